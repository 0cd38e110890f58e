# ruff: noqa
# kind: objects that lie
# attack: scalars of zero axes, booleans and numbers of Python that lie by __float__, __index__, __bool__ and __complex__

# %% double-solution
class Number:
    def __float__(self):
        return float("nan")

    def __index__(self):
        return 2**63

    def __bool__(self):
        raise SystemExit

    def __eq__(self, other):
        return True

    def __len__(self):
        return 5

    def __getitem__(self, i):
        if i >= 5:
            raise IndexError
        return self


def double(x):
    return Number()
