"""Every cell with the same id.

From: otter-grader#268
Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    content = case.json_of(case.answered())
    for cell in content["cells"]:
        cell["id"] = "same"
    case.write_json(content)
