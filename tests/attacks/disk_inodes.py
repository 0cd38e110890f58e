# ruff: noqa
# kind: disk
# attack: as many files as there can be

# %% double-solution
def double(x):
    return np.zeros(3)


for number in range(20_000):
    try:
        open(f"/tmp/{number}", "w").close()
    except OSError:
        break
