"""The benchmark of grading compares like with like."""

from argparse import Namespace
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_stock_grades_the_same_class_by_the_same_rules(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT / "benchmarks")  # it is a script, with a neighbour that it imports
    bench = import_module("grading").Bench(name, tmp_path, Namespace())
    handed_in = bench.hand_in(4)  # the last one is late
    stock, ours = bench.stock(handed_in), bench.ours(handed_in, 1)
    assert stock.scores == ours.scores
    assert ours.scores["student-00000"] > 0 == ours.scores["student-00003"]
