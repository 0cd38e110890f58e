"""Saved outputs that are none: they are not looked at.

Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    content = case.json_of(case.answered())
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            cell.update(outputs="none", execution_count="three")
    case.write_json(content)
