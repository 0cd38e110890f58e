"""A notebook in format 4.2, whose cells have no ids.

From: otter-grader#701
Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    content = case.json_of(case.answered())
    content["nbformat_minor"] = 2
    for cell in content["cells"]:
        del cell["id"]
    case.write_json(content)
