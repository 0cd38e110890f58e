# ruff: noqa
# kind: comparison patched
# attack: an exception whose name claims to equal every other
# stock: safe

# %% double-solution
class Name(str):
    __hash__ = str.__hash__

    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False


class Meta(type):
    __name__ = property(lambda self: Name("any"))


class Any(Exception, metaclass=Meta):
    pass


def double(x):
    raise Any
