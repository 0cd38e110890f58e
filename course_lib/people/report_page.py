"""The page of a marked problem set that a lecturer shows: one file, without script, and without names unless asked."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable
from typing import Any

import jinja2
import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator

from course_lib._roles import ROLES
from course_lib.people.statistics import FEWEST, Statistics
from course_lib.plots.style import INK, PAPER, book_style, new_figure, speaker

MOST_MISTAKES = 10
_WIDTH = 4.4  # inches: letters are read on a phone, and grow with the page on a projector

_WORDS = {
    "ko": {
        "title": "결과",
        "summary": "요약",
        "class": "수강생",
        "handed_in": "낸 사람",
        "waiting": "채점이 남은 사람",
        "mean": "평균",
        "median": "중앙값",
        "distribution": "점수 분포",
        "few": "분포는 다섯 명이 끝까지 채점된 뒤에 그립니다. 그보다 적으면 한 사람이 드러납니다.",
        "penalty": "늦게 낸 데 대한 감점을 빼기 전의 점수입니다.",
        "items": "문항",
        "item": "문항",
        "points": "배점",
        "difficulty": "평균 득점률",
        "full": "만점 비율",
        "discrimination": "변별도",
        "marked": "채점된 수",
        "explain": "평균 득점률이 높을수록 쉬운 문항입니다. 변별도는 그 문항의 점수와 나머지 점수의 상관계수입니다. "
        "0.2보다 낮은 문항은 다시 살펴볼 만합니다. 채점된 사람이 열 명이 안 되면 계산하지 않습니다.",
        "mistakes": "자주 나온 실수",
        "count": "사람 수",
        "hint": "힌트",
        "none": "이름 붙은 실수는 나오지 않았습니다.",
        "names": "학생별 점수",
        "student": "학생",
        "total": "점수",
        "waits": "채점이 남음",
    },
    "en": {
        "title": "how it went",
        "summary": "In short",
        "class": "Students",
        "handed_in": "Handed in",
        "waiting": "Still to be marked",
        "mean": "Mean",
        "median": "Median",
        "distribution": "Points",
        "few": "The distribution is drawn once five students are marked in full: with fewer, it shows single ones.",
        "penalty": "Points before any penalty for lateness.",
        "items": "Items",
        "item": "Item",
        "points": "Points",
        "difficulty": "Mean share",
        "full": "All points",
        "discrimination": "Discrimination",
        "marked": "Marked",
        "explain": "The higher the mean share, the easier the item. Discrimination is the correlation of an item's "
        "points with the points on the rest. An item below 0.2 is worth a second look. With fewer than ten students "
        "it is not computed.",
        "mistakes": "Most frequent mistakes",
        "count": "Students",
        "hint": "Hint",
        "none": "No named mistake was found.",
        "names": "Points by student",
        "student": "Student",
        "total": "Points",
        "waits": "still to be marked",
    },
}


def report_page(
    statistics: Statistics, language: str, *, by_student: dict[str, float | None] | None = None
) -> str:
    """The page; `by_student` names students, and is left out where None."""
    say = _WORDS[language]
    totals = np.array(statistics.totals)
    drawn = len(totals) >= FEWEST
    text: str = _template().render(
        say=say,
        language=language,
        data=statistics,
        mean=f"{totals.mean():.1f}" if len(totals) else "–",
        median=f"{np.median(totals):.1f}" if len(totals) else "–",
        histogram=_svg(_histogram(statistics, language), f"{say['distribution']}: {_spoken(totals)}")
        if drawn
        else None,
        bars=_svg(_bars(statistics, language), say["items"] + ": " + _spoken_items(statistics)),
        mistakes=statistics.mistakes[:MOST_MISTAKES],
        by_student=by_student,
        css=Markup(_CSS),
    )
    return text


@book_style()
def _histogram(statistics: Statistics, language: str) -> Figure:
    """How many students have how many points."""
    say = speaker(language)
    figure = new_figure(_WIDTH, 2.8)
    axes = figure.subplots()
    edges = np.linspace(0, statistics.most, 11).tolist()
    axes.hist(np.clip(statistics.totals, 0, statistics.most), bins=edges, color=ROLES["output"], rwidth=0.92)
    axes.set_xlim(0, statistics.most)
    mean = axes.axvline(float(np.mean(statistics.totals)), color=INK, linestyle="--", linewidth=1.5)
    mean.set_path_effects([withStroke(linewidth=4, foreground=PAPER)])  # it stands out from a bar, too
    axes.set_xlabel(
        say(f"점수 (만점 {statistics.most:g}, 점선은 평균)", f"points of {statistics.most:g}; dashed: mean")
    )
    axes.set_ylabel(say("학생 수", "students"))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(visible=False, axis="x")
    return figure


@book_style()
def _bars(statistics: Statistics, language: str) -> Figure:
    """The mean share of each item's points."""
    say = speaker(language)
    items = [item for item in statistics.items if item.marked]
    figure = new_figure(_WIDTH, 0.9 + 0.34 * max(1, len(items)))
    axes = figure.subplots()
    shares = [100 * item.difficulty for item in items]
    drawn = axes.barh([item.id for item in items], shares, color=ROLES["weight"], height=0.7)
    axes.bar_label(drawn, [f"{share:.0f} %" for share in shares], padding=4)
    axes.set_xlim(0, 112)
    axes.set_xticks([0, 25, 50, 75, 100])
    axes.invert_yaxis()
    axes.set_xlabel(say("평균 득점률 (%)", "mean share of the points (%)"))
    axes.grid(visible=False, axis="y")
    return figure


def _svg(figure: Any, label: str) -> Markup:
    """A figure to stand within a page."""
    buffer = io.StringIO()
    with book_style():
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.S)
    return Markup(text.replace("<svg ", f'<svg role="img" aria-label="{html.escape(label)}" ', 1))


def _spoken(totals: Any) -> str:
    low, high = np.min(totals), np.max(totals)
    return f"{low:g}–{high:g}"


def _spoken_items(statistics: Statistics) -> str:
    return ", ".join(f"{item.id} {100 * item.difficulty:.0f} %" for item in statistics.items if item.marked)


def _template() -> jinja2.Template:
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    filters: dict[str, Callable[..., str]] = {"percent": lambda share: f"{100 * share:.0f} %"}
    environment.filters.update(filters)
    return environment.from_string(_TEMPLATE)


_TEMPLATE = """\
<!DOCTYPE html>
<html lang="{{ language }}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>{{ data.assignment }} – {{ say.title }}</title>
<style>{{ css }}</style>
</head>
<body>
<main>
<h1>{{ data.assignment }} <small>{{ say.title }}</small></h1>
<dl aria-label="{{ say.summary }}">
{% for name, value in ((say.class, data.students), (say.handed_in, data.handed_in), (say.waiting, data.waiting),
  (say.mean, mean ~ " / %g" % data.most), (say.median, median ~ " / %g" % data.most)) %}
<div><dt>{{ name }}</dt><dd>{{ value }}</dd></div>
{% endfor %}
</dl>
<h2>{{ say.distribution }}</h2>
{% if histogram %}
<figure>{{ histogram }}<figcaption>{{ say.penalty }}</figcaption></figure>
{% else %}
<p>{{ say.few }}</p>
{% endif %}
<h2>{{ say["items"] }}</h2>
<figure>{{ bars }}</figure>
<div class="wide" tabindex="0">
<table>
<thead><tr><th scope="col">{{ say.item }}</th>
{% for name in (say.points, say.difficulty, say.full, say.discrimination, say.marked) %}
<th scope="col" class="number">{{ name }}</th>
{% endfor %}
</tr></thead>
<tbody>
{% for item in data["items"] %}
<tr><th scope="row">{{ item.id }}</th><td>{{ "%g" % item.points }}</td>
{% if item.marked %}
<td>{{ item.difficulty | percent }}</td><td>{{ item.full | percent }}</td>
{% else %}
<td>–</td><td>–</td>
{% endif %}
<td>{{ "–" if item.discrimination is none else "%.2f" % item.discrimination }}</td><td>{{ item.marked }}</td></tr>
{% endfor %}
</tbody>
</table>
</div>
<p class="small">{{ say.explain }}</p>
<h2>{{ say.mistakes }}</h2>
{% if mistakes %}
<div class="wide" tabindex="0">
<table>
<thead><tr><th scope="col">{{ say.item }}</th><th scope="col">{{ say.hint }}</th>
<th scope="col" class="number">{{ say.count }}</th></tr></thead>
<tbody>
{% for mistake in mistakes %}
<tr><th scope="row">{{ mistake.item }}</th><td class="words">{{ mistake.hint }}</td><td>{{ mistake.count }}</td></tr>
{% endfor %}
</tbody>
</table>
</div>
{% else %}
<p>{{ say.none }}</p>
{% endif %}
{% if by_student is not none %}
<h2>{{ say.names }}</h2>
<table>
<thead><tr><th scope="col">{{ say.student }}</th><th scope="col" class="number">{{ say.total }}</th></tr></thead>
<tbody>
{% for student, total in by_student.items() %}
<tr><th scope="row">{{ student }}</th><td>{{ say.waits if total is none else "%g" % total }}</td></tr>
{% endfor %}
</tbody>
</table>
{% endif %}
</main>
</body>
</html>
"""

_CSS = """\
:root { color-scheme: light dark; --paper: #fff; --ink: #1f2328; --faint: #57606a; --line: #d0d7de; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #16191f; --ink: #e6e9ee; --faint: #a3acb9; --line: #3a414c; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 17px/1.6 system-ui, "Noto Sans KR", "Apple SD Gothic Neo", "Malgun Gothic", sans-serif;
  word-break: keep-all; overflow-wrap: anywhere; }
main { max-width: 50rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.7rem; margin: .4rem 0; } h1 small { font-weight: normal; color: var(--faint); }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
dl { display: flex; flex-wrap: wrap; gap: .6rem 2rem; margin: 1rem 0; }
dt { color: var(--faint); font-size: .9rem; } dd { margin: 0; font-size: 1.4rem; font-weight: 600; }
figure { margin: 0; } figure svg { display: block; width: 100%; height: auto; border-radius: 4px; }
figcaption, .small { color: var(--faint); font-size: .9rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .35rem .8rem .35rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
tbody th { font-weight: normal; font-family: ui-monospace, Menlo, Consolas, monospace; font-size: .95em;
  white-space: nowrap; }
td, .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.words { text-align: left; white-space: normal; }
th:last-child, td:last-child { padding-right: 0; }
@media (max-width: 30rem) { th, td, tbody th { font-size: .8rem; padding-right: .5rem; }
  th.number { white-space: normal; overflow-wrap: normal; } }
"""
