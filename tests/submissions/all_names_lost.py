"""Metadata and ids lost: functions are found by their names, an answer in words is not.

From: abc-classroom#88
Marks: double 3, mean 2.5, why 0
Notes: none of its cells is this problem set's
"""

from submission_case import Case


def build(case: Case) -> None:
    content = case.json_of(case.answered())
    for number, cell in enumerate(content["cells"]):
        cell.update(metadata={}, id=f"other-{number}")
    case.write_json(content)
