# ruff: noqa
# kind: objects that lie
# attack: the answer is no function but an object whose call, name and code lie
# stock: safe

# %% double-solution
class Call:
    __name__ = "double"
    __code__ = None

    def __call__(self, *a, **k):
        return np.zeros(3)

    def __getattr__(self, name):
        return self


double = Call()
