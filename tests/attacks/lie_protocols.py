# ruff: noqa
# kind: objects that lie
# attack: __reduce__, __deepcopy__, __del__, __set_name__ and a metaclass run where the answer is handled
# stock: safe

# %% double-solution
import gc, sys


class Meta(type):
    def __instancecheck__(cls, other):
        return True

    def __subclasscheck__(cls, other):
        return True

    def __call__(cls, *given):
        return 3.0


class Answer(metaclass=Meta):
    __code__ = property(lambda self: 1 / 0)

    def __reduce__(self):
        return (exec, ("import os; os._exit(0)",))

    def __deepcopy__(self, memo):
        return 3.0

    def __del__(self):
        for thing in gc.get_objects():
            if isinstance(thing, dict) and "points" in thing:
                thing["points"] = 3.0

    def __getattr__(self, name):
        return lambda *given, **named: 3.0

    def __iter__(self):
        return iter([3.0])

    def __float__(self):
        return 3.0


def double(x):
    return object.__new__(Answer)
