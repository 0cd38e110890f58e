# ruff: noqa
# kind: results as bombs
# attack: an exception whose text never ends and whose name is markup

# %% double-solution
class Bomb(Exception):
    def __str__(self):
        return "<script>alert(1)</script>\x1b[2J" * 10_000_000


Bomb.__name__ = "<img src=x onerror=alert(1)>\x1b]0;owned\x07[red]"


def double(x):
    raise Bomb
