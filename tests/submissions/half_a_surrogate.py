"""Half of an emoji, as cutting a text in two leaves it.

Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    content = case.json_of(case.answered(double="def double(x):\n    # \ud83d\n    return 2 * x"))
    case.write_json(content)
