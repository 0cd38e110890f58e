"""Two notebooks of the problem set under other names: nobody guesses.

Says: 2 notebooks hold this problem set (a.ipynb, b.ipynb); leave one and name it mini.ipynb
"""

from submission_case import Case


def build(case: Case) -> None:
    for name in ("a.ipynb", "b.ipynb"):
        case.write(case.answered(), name=name)
