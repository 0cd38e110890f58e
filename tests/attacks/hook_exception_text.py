# ruff: noqa
# kind: hooks of Python
# attack: exceptions whose text, name and traceback fail when they are asked for

# %% double-solution
class E(Exception):
    def _render_traceback_(self):
        return ["<script>"] * 10**5

    def __str__(self):
        return 5


class F(Exception, metaclass=type("M", (type,), {"__name__": property(lambda c: "x" * 10**7)})):
    pass


def double(x):
    raise E


try:
    raise F
finally:
    raise E("a")
