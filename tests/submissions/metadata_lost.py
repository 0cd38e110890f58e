"""nbgrader's metadata lost, as some editors do; the cells' ids are there.

From: jupyter/nbgrader#1302
Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    content = case.json_of(case.answered())
    for cell in content["cells"]:
        cell["metadata"] = {}
    case.write_json(content)
