"""Magics, a shell command, top-level await and a figure.

Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case


def build(case: Case) -> None:
    notebook = case.answered(double="%%time\ndef double(x):\n    return 2 * x")
    figure = "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"
    for source in ("%matplotlib inline", "!pip list", "import asyncio\nawait asyncio.sleep(0)", figure):
        notebook.cells.insert(1, case.code(source))
    case.write(notebook)
