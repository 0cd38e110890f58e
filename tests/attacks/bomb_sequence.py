# ruff: noqa
# kind: results as bombs
# attack: a sequence that claims 2**62 entries

# %% double-solution
class Long:
    def __len__(self):
        return 2**62

    def __getitem__(self, index):
        return 0.0


def double(x):
    return Long()
