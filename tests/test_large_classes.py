"""The page on large classes reckons with what the benchmarks measured, and not with anything else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module", params=["ko", "en"])
def page(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The names that the page's cells with numbers make."""
    text = (ROOT / "book" / request.param / "large-classes.md").read_text(encoding="utf-8")
    cells = re.findall(r"^```\{code-cell\}\n(.*?)^```$", text, re.M | re.S)
    names: dict[str, Any] = {}
    for cell in cells:
        if re.match(r"[A-Z_]+ = ", cell):
            exec(cell, names)
    return names


def rows(benchmark: str, section: str = "") -> list[list[str]]:
    """The lines of the tables of a benchmark's page, below a heading."""
    text = (ROOT / "benchmarks" / f"{benchmark}.md").read_text(encoding="utf-8").split(section or "\n")
    return [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section_of(text)
        if line.startswith("|")
    ]


def section_of(parts: list[str]) -> list[str]:
    return "\n".join(parts[1:]).split("\n## ")[0].splitlines()


def test_times_are_those_of_the_benchmarks(page: dict[str, Any]) -> None:
    text = (ROOT / "benchmarks" / "grading.md").read_text(encoding="utf-8")
    assert f"ours {page['PROCESSORS_MS']:.0f} ms (" in text.split("## torch")[0]
    whole = next(row for row in rows("grading", "## numpy") if row[0].startswith("class of 20,"))
    assert whole[2] == f"{page['START_S']} s"
    [large] = [row for row in rows("grading", "## numpy") if row[0] == "2000"]
    assert page["MEASURED_S"] == float(large[1])
    own = [float(row[-1]) for row in rows("cluster") if row[0].isdigit()]
    assert page["RECORD_MS"] == max(own)
    assert page["THROUGH_DASK"] == {int(row[0]): float(row[2]) for row in rows("cluster") if row[0].isdigit()}


def test_memory_is_that_of_the_benchmarks(page: dict[str, Any]) -> None:
    numpy_ = {
        row[0]: [int(cell) for cell in row[3:]] for row in rows("grading", "## numpy") if row[0].isdigit()
    }
    torch = {
        row[0]: [int(cell) for cell in row[3:]] for row in rows("grading", "## torch") if row[0].isdigit()
    }
    assert page["WRITER_MB"] == {int(count): sizes[0] for count, sizes in numpy_.items()}
    assert [page["WORKER_MB"], page["ROOM_MB"]] == numpy_["2000"][1:]
    assert page["TORCH_MB"] == sum(torch["2000"][1:])
