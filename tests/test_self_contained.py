"""Which notebooks may have all their tasks asked in one process: those that can do nothing to it."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from attack_suite import FOLDER, load_attacks

from course_lib.grading.fetching import fetching_source
from course_lib.grading.self_contained import _MAGICS, _RESERVED, is_self_contained
from course_lib.grading.worker import _LARGE

ROOT = Path(__file__).parents[1]
TASKS = ("a", "b", "t")
COMPUTES = (
    "import numpy as np\nfrom course_lib.checks import load\ncheck = load('cases.npz', language='en')",
    "def a(x, axis=-1):\n    y = np.exp(x)\n    y[0] = 1\n    return y.sum(axis=axis)",
    "eps = 1e-5\ndef b(x):\n    def inner(z):\n        return a(z) + eps\n    return inner(x)",
    "q = np.ones(3)\nprint(a(q), f'{b(q)}', [a(i) for i in q])\ncheck('a', a)",
    "def c(x):\n    with np.errstate(divide='ignore'):\n        return x / 0",
    "def d(x):\n    open = 2\n    return open * x",
    "def g(x: np.ndarray | None, y: 'float' = 1) -> tuple[np.ndarray, int]:\n    z: np.ndarray = x * y\n    return z",
    "def h(x):\n    return np.divide(x, x, where=x > 0, out=np.zeros_like(x))",
    "import torch.nn.functional as F\ndef e(x):\n    raise NotImplementedError",
    "",
    fetching_source("ko", "https://example.org/cases.npz", "https://example.org/x.whl"),
)
DOES_MORE = (
    "open('x')",
    "exec('1')",
    "np.mean = 1",
    "def g(x):\n    np.load = 2",
    "a.__globals__",
    "a.calls = 0",
    "np.random.seed(1)",
    "np.seterr(all='raise')",
    "import os",
    "from os import path",
    "from numpy import *",
    "from course_lib.checks import call",
    "def g(x):\n    import os",
    "def g(x):\n    return __import__('os')",
    "def g(x):\n    global eps\n    eps = 1",
    "def g(x):\n    return q",
    "g = lambda x: q",
    "def eps(x):\n    return x\neps = np.ones(3)",
    "def g(x, y=[]):\n    return y",
    "def g(x, y=q):\n    return y",
    "def g(x: (kind := np.ndarray)):\n    return x",
    "def g(x: a(np.ndarray)):\n    return x",
    "x: np.ndarray = np.ndarray",
    "def g(x: np.load):\n    return x",
    "def g(x: [kind for kind in (np.ndarray,)]):\n    return x",
    "def g(x: (lambda: np.ndarray)):\n    return x",
    "def g(x) -> exec('1'):\n    return x",
    "x: open('a') = 3",
    "(lambda: exec('1'))()",
    "[open for i in q]",
    "@np.vectorize\ndef g(x):\n    return x",
    "class A:\n    pass",
    "try:\n    pass\nexcept Exception:\n    open('x')",
    "with open('f') as f:\n    pass",
    "with q:\n    pass",
    "async def g():\n    pass",
    "await q",
    "del q",
    "_ = 3",
    "print(__builtins__)",
    "get_ipython()",
    "In[1]",
    "In [1]: a(q)",
    "%matplotlib inline",
    "!ls",
    "def g(",
    "x = " + "-" * 100_000 + "1",
    # What holds something between calls
    "t = lambda x, seen=[]: seen.append(x)",
    "seen = []\ng = lambda x, seen=seen: seen.append(x)\nt = lambda x, seen=seen: len(seen)",
    "g = lambda x, *, seen=[]: seen.append(x)",
    "def make():\n    seen = []\n    return lambda x: seen.append(x), lambda x: len(seen)\nt, g = make()",
    "def make():\n    seen = []\n    return lambda x: seen.append(x)\nfor t in [make()]:\n    pass",
    "def make():\n    seen = []\n    return lambda x: seen.append(x)\nprint(t := make())",
    "def make():\n    return []\ndef g(x: (t := make())):\n    return x",
    "def make():\n    return []\ndef g(x) -> (t := make()):\n    return x",
    "def make():\n    return []\ntry:\n    pass\nexcept (t := make()):\n    pass",
    "t = a",
    "*seen, last = 'ab'\ndef g(x):\n    seen.append(x)",
    "[seen, last] = 'ab'\ndef g(x):\n    return seen",
    "sum = []\ndef g(x):\n    sum.append(x)",
    "def g(x):\n    return (yield x)",
    "def g(x):\n    with np.errstate(all='raise'):\n        yield",
    "def g(x):\n    def inner(seen=[]):\n        nonlocal x\n    return inner",
    "match q:\n    case [t, *_]:\n        pass",
    "if q is None:\n    def t(x):\n        return x",
    "np.ndarray.__setitem__(q, 0, 1)",
    "q.flags.writeable = False",
    "setattr(np, 'mean', 1)",
    "vars(np)['mean'] = 1",
    "f'{vars(np)}'",
    "f'{np.__dict__}'",
    "'{0.__globals__}'.format(a)",
    "[x async for x in q]",
    "type t = int",
    "def g[T](x: T):\n    return x",
    "from __future__ import annotations",
    # Names that are the interpreter's until they are bound
    "exec('1')\nexec = 0",
    "def g(x):\n    return open('x')\nopen = 0",
    "def g(x):\n    return exit()\nexit = 0",
    "def g(x):\n    return Out\nOut = 0",
    "def g(x):\n    return get_ipython()\nget_ipython = 0",
    "def g(x):\n    return sys.modules\nsys = 0",
    "def g(x):\n    return sys\nsys = 0",
    "ｅxec('1')",
    # Memory as others left it
    "def g(x):\n    return np.empty(3)",
    "def g(x):\n    return np.empty_like(x)",
    "def g(x):\n    return np.ndarray(3)",
    "def g(x):\n    return np.divide(x, x, where=x > 0)",
    "def g(x):\n    return np.divide(x, x, **{'where': x > 0})",
    "def g(x):\n    return np.divide(x, x, where=x > 0, out=None)",
    "def g(x, y=None):\n    return np.divide(x, x, where=x > 0, out=y)",
    "def g(x):\n    return np.pad(x, 1, mode='empty')",
    # What IPython reads otherwise than Python does
    "system ('ls')\n\n",
    "run - q",
    "x = 1 # one\u2028%reset -f",
    "x = 1 # one\x0c!ls",
    "x = 1 # one\x85%reset -f",
    "x = 1 # one\r%reset -f",
    'x = """\n%reset -f\n"""',
    "x = (f'}}'\n% 3)",
    'def g(x):\n    """One.\n\n    >>> g(1)\n    """\n    return x',
    "x = 0\nIn [1]: a",
    "    # one\nx = 1",
)
SPOILT = {"run": "k = 1\nrun = 0", "system": "k = 1\nsystem = 0"}  # bound by a cell further down


def test_what_only_computes_is_self_contained() -> None:
    assert is_self_contained(COMPUTES, TASKS)


@pytest.mark.parametrize("source", DOES_MORE, ids=range(len(DOES_MORE)))
def test_whatever_may_do_more_is_not(source: str) -> None:
    assert not is_self_contained([*COMPUTES, source], TASKS)


@pytest.mark.parametrize("name", SPOILT)
def test_a_command_of_ipython_is_not_for_a_name_bound_below(name: str) -> None:
    assert is_self_contained([*COMPUTES, SPOILT[name]], TASKS)
    assert not is_self_contained([*COMPUTES, f"{name} - q", SPOILT[name]], TASKS)


@pytest.mark.parametrize(
    "source", ["\n" * 10**6, " " * 10**6 + "x", " \n" * 10**6, "0\n" * 10**6, "(" * 10**6]
)
def test_a_notebook_without_end_is_not_read(source: str) -> None:
    """Whoever grades would read it for hours."""
    assert not is_self_contained([source], TASKS)
    assert not is_self_contained([source[:1000]] * 1000, TASKS)
    assert not any(sign.search(source) for sign in _LARGE.values())


def test_the_commands_of_ipython_are_known() -> None:
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    assert set(shell.magics_manager.magics["line"]) <= _MAGICS
    assert {name for name in shell.user_ns if not name.startswith("_")} <= _RESERVED


def test_an_attack_is_not_but_where_it_only_computes() -> None:
    """Of the attacks those may be, whose harm is what a call takes, gives or says: that meets its own task alone."""
    found = {
        attack.name
        for attack in load_attacks()
        if is_self_contained(
            ["import numpy as np", *(source for _, source in attack.cells)], ["double", "mean"]
        )
    }
    does_more = {"compare", "disk", "hook", "kill", "left", "many", "neighbour", "seek", "shadow"}
    assert not {name.split("_")[0] for name in found} & does_more, found
    assert len(found) < len(list(FOLDER.glob("*.py"))) / 5


@pytest.mark.parametrize("path", sorted(ROOT.glob("exercises/en/*/*.ipynb")), ids=lambda path: path.stem)
def test_an_exercise_as_released_is(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    tasks = [cell["metadata"].get("nbgrader", {}).get("grade_id", "") for cell in cells]
    classes = any(
        isinstance(node, ast.ClassDef) for source in sources for node in ast.walk(ast.parse(source))
    )
    assert is_self_contained(sources, tasks) != classes
