# ruff: noqa
# kind: output
# attack: the function prints without end

# %% double-solution
def double(x):
    for _ in range(100):
        print("x" * 2**20)
    return np.zeros(3)
