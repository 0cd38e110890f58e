"""Backends and formats of figures that there are elsewhere, widgets, and bars of progress that are not installed.

Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case

PLOT = "import matplotlib.pyplot as plt\nplt.rc('font', family='NanumGothic')\nplt.title('한글')\nplt.show()"
SOURCES = (
    "%matplotlib notebook",
    "%matplotlib widget",
    "%matplotlib qt",
    "%config InlineBackend.figure_format = 'svg'",
    PLOT,
    "for _ in range(9):\n    plt.plot([1])\n    plt.show()",
    "import ipywidgets",
    "import tqdm",
    "from IPython.display import *\ndisplay(1, display_id='a')\nupdate_display(2, display_id='a')",
    "display(HTML('<b>x</b>'), Markdown('*x*'), Math('x'), SVG(data='<svg/>'), Javascript('1'), JSON({}))",
    "%%html\n<b>x</b>",
    "%%latex\n$x$",
)


def build(case: Case) -> None:
    notebook = case.answered()
    notebook.cells[1:1] = map(case.code, SOURCES)
    case.write(notebook)
