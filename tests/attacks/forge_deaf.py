# ruff: noqa
# kind: marks forged
# attack: the answer to a cell is forged and nothing is read any more

# %% double-solution
def double(x):
    return np.zeros(3)


import json, os, struct, threading

text = json.dumps({"outputs": [], "count": 1}).encode()
os.write(3, struct.pack("!II", len(text), 0) + text)
while True:
    pass
