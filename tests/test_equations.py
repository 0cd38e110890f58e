"""Equations: the letters of the roles get their class, wherever they are more than an index."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
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


@pytest.mark.slow
def test_a_formula_of_a_prompt_fits_into_a_narrow_notebook(browser: Any) -> None:
    """JupyterLab's cells are 582 pixels wide in a window of 700, and cut off what is wider."""
    prompts = [path.read_text(encoding="utf-8") for path in ROOT.glob("solutions/ps*/ps*.md")]
    formulas = [tex for text in prompts for tex in re.findall(r"\$\$(.*?)\$\$", text, re.DOTALL)]
    assert len(formulas) > 2 * 20
    page = browser.new_page()
    lines = [equations.to_mathml(tex, display=True) for tex in [*formulas, r"x + y + z + u + v + " * 12]]
    page.set_content("".join(f'<div style="width: max-content">{line}</div>' for line in lines))
    widths = page.evaluate(
        "[...document.querySelectorAll('div')].map(each => each.getBoundingClientRect().width)"
    )
    page.close()
    assert [tex for tex, width in zip(formulas, widths[:-1], strict=True) if width > 582] == []
    assert widths[-1] > 582
