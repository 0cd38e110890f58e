"""Each role has one colour, the same in the style sheet and in figures, that every reader tells from the others."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from course_lib._roles import ROLES
from course_lib.plots.style import PAPER, SERIES

BOOK = Path(__file__).resolve().parents[1] / "book"
CSS = BOOK / "theme" / "static" / "course.css"
NAMES = dict(zip(ROLES, ("query", "key", "value", "score", "weight", "output"), strict=True))
# What lies below letters: the theme's page, and its surface (boxes, code, table heads).
BACKGROUNDS = {"light": (PAPER, "#f3f4f5"), "dark": ("#14181e", "#29313d")}

# Machado, Oliveira and Fernandes 2009: complete colour-vision deficiency, on linear RGB.
VISION = {
    "full": np.eye(3),
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritan": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}


def palette(theme: str) -> dict[str, str]:
    """The colours that the style sheet gives to the roles: light comes first, dark after it."""
    found = re.findall(r"--role-(\w+): (#[0-9a-f]{6});", CSS.read_text(encoding="utf-8"))
    light, dark = found[: len(ROLES)], found[len(ROLES) :]
    return dict(light if theme == "light" else dark)


def series(theme: str) -> list[str]:
    """The colours of lines and bars that have no role: light comes first, dark after it."""
    found = re.findall(r"--series-\d: (#[0-9a-f]{6});", CSS.read_text(encoding="utf-8"))
    return found[: len(SERIES)] if theme == "light" else found[len(SERIES) :]


def test_palettes_name_every_role() -> None:
    assert list(palette("light")) == list(palette("dark")) == list(NAMES.values())


def test_figures_have_the_colours_of_the_page() -> None:
    assert palette("light") == {NAMES[role]: color for role, color in ROLES.items()}


@pytest.mark.parametrize("theme", BACKGROUNDS)
@pytest.mark.parametrize("vision", VISION)
def test_roles_have_colours_that_every_eye_tells_apart(vision: str, theme: str) -> None:
    seen = {role: lab(np.array(VISION[vision]) @ linear(color)) for role, color in palette(theme).items()}
    for (first, one), (second, other) in itertools.combinations(seen.items(), 2):
        assert np.linalg.norm(one - other) > 20, f"{first} and {second}"


@pytest.mark.parametrize("theme", BACKGROUNDS)
@pytest.mark.parametrize("role", NAMES.values())
def test_roles_are_read_on_page_and_surface(role: str, theme: str) -> None:
    """Luminance alone decides this, so it holds in grey and in print too."""
    for background in BACKGROUNDS[theme]:
        assert contrast(palette(theme)[role], background) >= 4.5


def test_series_of_figures_are_those_of_the_page() -> None:
    assert series("light") == list(SERIES)
    assert len(series("dark")) == len(SERIES)


@pytest.mark.parametrize("theme", BACKGROUNDS)
def test_series_are_told_from_each_other_and_from_roles(theme: str) -> None:
    """From each other by every eye; from a role, which no picture of series has beside it, by the full eye."""
    for matrix in VISION.values():
        seen = [lab(np.array(matrix) @ linear(color)) for color in series(theme)]
        assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 20
    seen, roles = (
        [lab(linear(color)) for color in colors] for colors in (series(theme), palette(theme).values())
    )
    assert min(np.linalg.norm(a - b) for a, b in itertools.product(seen, roles)) > 20
    assert min(contrast(a, b) for a, b in itertools.product(series(theme), BACKGROUNDS[theme])) >= 3


def test_lines_that_are_compared_have_no_colour_of_a_role() -> None:
    style = (BOOK / "figures" / "figures.css").read_text(encoding="utf-8")
    ways = [rule for rule in style.split("}") if ".way" in rule or ".line" in rule]
    assert len(ways) > 5
    assert [rule for rule in ways if "--role" in rule] == []


def contrast(color: str, paper: str) -> float:
    bright, dark = sorted((luminance(color), luminance(paper)), reverse=True)
    return float((bright + 0.05) / (dark + 0.05))


def luminance(color: str) -> float:
    return float(linear(color) @ [0.2126, 0.7152, 0.0722])


def linear(color: str) -> Any:
    srgb = np.array(to_rgb(color))
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def lab(rgb: Any) -> Any:
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    ratio = to_xyz @ np.clip(rgb, 0, 1) / [0.9505, 1, 1.089]
    x, y, z = np.where(ratio > 0.008856, np.cbrt(ratio), 7.787 * ratio + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])
