"""Equations: the letters of the roles get their class, wherever they are more than an index."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
equations = importlib.import_module("book.theme.equations")


@pytest.mark.parametrize(
    ("tex", "roles"),
    [
        (r"S=QK^\top", ["score", "query", "key"]),
        (r"O=AV\quad(n_q\times d_v)", ["output", "weight", "value"]),
        (r"0.44v_1+0.56v_2", ["value", "value"]),
        (r"q^\top k_i", ["query", "key"]),
        (r"\frac{q\cdot k}{\sqrt{d_k}}", ["query", "key"]),
        (r"\lVert\hat q\rVert", ["query"]),
        (r"S_{ij}^{k}", ["score"]),
        (r"W^Q_i+W^{O}+n_k+\operatorname{Var}", []),
        (r"\begin{bmatrix}O_1&\cdots&O_h\end{bmatrix}", ["output", "output"]),
    ],
)
def test_to_mathml_marks_letters_of_roles(tex: str, roles: list[str]) -> None:
    assert re.findall(r'class="role-(\w+)"', equations.to_mathml(tex, display=True)) == roles


@pytest.mark.parametrize("tex", [r"\frac{QK^\top}{\sqrt{d_k}}+M", r"W^Q_i", r"L_{ij}<k"])
def test_to_mathml_changes_nothing_else(tex: str) -> None:
    marked = re.sub(r' class="role-\w+"', "", equations.to_mathml(tex, display=False))
    assert marked == equations.CONVERTER.convert_with_local_state(tex, displaystyle=False)
