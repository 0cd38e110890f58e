"""Lines of prose break where a reader would break them."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from docutils import nodes

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
lines = importlib.import_module("book.theme.lines")


@pytest.mark.parametrize(
    ("text", "before", "joined"),
    [
        ("dot product(내적)로 잰다", "", "dot product(내적)+로 잰다"),
        ("출력(output)이 나온다", "", "출력+(output)+이 나온다"),
        ("“읽을까”를 묻는다", "", "“읽을까”+를 묻는다"),
        ("를 바로 reshape한다", ")", "+를 바로 reshape한다"),
        ("에 두면", "/", "+에 두면"),
        ("16.8 MB인데 10 bytes다", "", "16.8_MB인데 10_bytes다"),
        (" MB인데", "8", "_MB인데"),
        ("각각 (모두) 다르다", "", "각각 (모두) 다르다"),
        ("in 3 books (all of them) it is so", "", "in 3 books (all of them) it is so"),
        ("4 MBs", "", "4 MBs"),
        ("Self-Attention의 QK Norm", "", "Self-+Attention의 QK_Norm"),
        ("Cauchy–Schwarz, 3-4", "", "Cauchy–+Schwarz, 3-4"),
        ("KV caches, a KV head", "", "KV_caches, a KV head"),
        ("Llama 2 7B and Gemma 3 keep", "", "Llama_2_7B and Gemma_3 keep"),
    ],
)
def test_held_closes_the_joints(text: str, before: str, joined: str) -> None:
    assert lines.held(text, before) == joined.replace("+", "\u2060").replace("_", "\u00a0")


def test_computed_numbers_in_a_row_stay_on_one_line() -> None:
    block = nodes.paragraph(
        "", "", *map(nodes.Text, ("is [", "0.66", ", ", "0.34", "], then ", "one", ", ", "two"))
    )
    lines._hold_numbers(block)
    assert block.astext() == "is [0.66,\u00a00.34], then one, two"


def test_word_with_a_joint_is_one_element_on_paper() -> None:
    block = nodes.paragraph("", "출력(output)이 한 Multi-Head 층에서 나온다")
    lines._wrap_joints(block)
    assert [part.astext() for part in block.findall(nodes.inline)] == ["출력(output)이", "Multi-Head"]
    assert block.astext() == "출력(output)이 한 Multi-Head 층에서 나온다"
