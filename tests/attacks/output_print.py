# ruff: noqa
# kind: output
# attack: 50 MB are printed

# %% double-solution
def double(x):
    return np.zeros(3)


for _ in range(50):
    print("x" * 2**20)
