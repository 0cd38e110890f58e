"""Metadata that is a list, a number, a text.

Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    content = case.json_of(case.answered())
    for number, cell in enumerate(content["cells"]):
        if "nbgrader" not in cell["metadata"]:
            cell["metadata"] = [[], 3, "text", None][number % 4]
    content["metadata"] = "none"
    case.write_json(content)
