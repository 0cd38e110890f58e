# ruff: noqa
# kind: objects that lie
# attack: numbers of odd dtypes: long double, half, other byte orders, quiet and signalling NaN with payloads, empty axes

# %% double-solution
def double(x):
    if x.size == 5:
        return np.frombuffer(b"\x01\0\0\0\0\0\xf0\x7f" * 5, "<f8")
    if x.size == 7:
        return np.full(7, np.longdouble("1e4000"))
    return np.zeros((0, 2**40), ">f2")
