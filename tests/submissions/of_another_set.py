"""The notebook of another set, under the name that this one's should have.

Marks: double 0, mean 0, why 0
Notes: none of its cells is this problem set's: look whether it is another
"""

from submission_case import Case


def build(case: Case) -> None:
    case.write(case.plain("def scores(q, k):\n    return q @ k.T"))
