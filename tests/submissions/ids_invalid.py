"""Ids that are none: too long, with blanks, numbers.

Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    content = case.json_of(case.answered())
    for number, cell in enumerate(content["cells"]):
        cell["id"] = [number, "with a blank", "x" * 65, None][number % 4]
    case.write_json(content)
