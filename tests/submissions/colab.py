"""From Colab: a cell with a title and a form, a drive that isn't there, pip, and a name that Colab gives.

Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case

DOUBLE = "#@title Double {run: 'auto'}\nfactor = 2  #@param {type: 'number'}\ndef double(x):\n    return factor * x"


def build(case: Case) -> None:
    notebook = case.answered(double=DOUBLE)
    for source in (
        "from google.colab import drive\ndrive.mount('/content/drive')",
        "!pip install -q numpy\n%pip list",
        "%cd /content",
    ):
        notebook.cells.insert(1, case.code(source))
    for cell in notebook.cells:
        cell.metadata["colab"] = {"base_uri": "https://localhost:8080/"}
        cell.metadata["id"] = "aBcD"
        cell.pop("id", None)
    notebook.metadata.update(colab={"provenance": []}, accelerator="GPU")
    notebook.nbformat_minor = 0
    case.write_json(case.json_of(notebook))
