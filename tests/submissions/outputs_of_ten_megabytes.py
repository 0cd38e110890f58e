"""Ten megabytes of saved figures: they are no reason to refuse.

Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    content = case.json_of(case.answered())
    output = {"output_type": "display_data", "metadata": {}, "data": {"image/png": "A" * 10**6}}
    content["cells"][1].update(cell_type="code", outputs=[output] * 10, execution_count=1, source="1")
    case.write_json(content)
