"""An import of what is not there begins an answer, so that its function is never defined; another stands alone.

Marks: double 0, mean 2.5, why waits
Message: double: There is no double. Look at the error
"""

from submission_case import Case


def build(case: Case) -> None:
    notebook = case.answered(double="import pandas_as_nobody_has_it\n\n\ndef double(x):\n    return 2 * x")
    notebook.cells.insert(0, case.code("from google.colab import drive\ndrive.mount('/content/drive')"))
    case.write(notebook)
