"""The page that tells one student what their problem set earned and why: one file without script, from data alone.

Whatever a student's cells hold or put out is text here, or a picture whose bytes are one: nothing in it runs, loads or
hides anything.
"""

from __future__ import annotations

import functools
import html
import importlib
import re
from dataclasses import dataclass
from typing import Any

import jinja2
import mistune
import nh3
from markupsafe import Markup
from math_core import LatexError, LatexToMathML

from course_lib.grading.gradebook import NO_RESPONSE
from course_lib.grading.pictures import KINDS, Pixels
from course_lib.grading.plain import plain_text, without_blanks

MAX_SOURCE = 50_000  # characters of one cell that are shown
MAX_TEXT = 20_000  # of one output
MAX_PAGE = 400_000  # of all outputs of a page together, and of all sources
MAX_PICTURE = 3 * 2**20  # characters of one picture, as base64
MAX_PICTURES = 12 * 2**20  # of all pictures of a page
MAX_FORMULA = 2_000
MAX_BRACKETS = 18  # that one formula opens

_WORDS = {
    "ko": {
        "title": "채점 결과", "total": "합계", "item": "과제", "score": "점수", "points": "점",
        "waits": "사람이 채점할 차례입니다.", "late": "늦게 낸 데 대한 감점", "comment": "채점한 사람의 말",
        "none": "답이 없습니다.", "cut": "[여기서 줄였습니다]",
    },
    "en": {
        "title": "Your result", "total": "Total", "item": "Task", "score": "Points", "points": "points",
        "waits": "Waits for a person's mark.", "late": "Late penalty", "comment": "Comment",
        "none": "No answer.", "cut": "[cut off here]",
    },
}  # fmt: skip


@dataclass(frozen=True)
class ItemMark:
    """What an item earned; `score` is None while a person has to give it."""

    score: float | None
    points: float


@dataclass(frozen=True)
class SubmissionMarks:
    """The marks of one submission by item, and the comments by answer, as the gradebook has them."""

    items: dict[str, ItemMark]
    comments: dict[str, str]
    late_penalty: float = 0.0

    @property
    def score(self) -> float:
        """The points so far, after what lateness cost; as in exports and formgrader never below 0."""
        return max(0.0, sum(mark.score or 0.0 for mark in self.items.values()) - self.late_penalty)

    @property
    def points(self) -> float:
        """The points that all items have."""
        return sum(mark.points for mark in self.items.values())


def page(
    notebook: Any, marks: SubmissionMarks, *, problem_set: str, student: str, language: str, note: str = ""
) -> str:
    """The page of an executed notebook; `note` says what is to be said of the submission as a whole."""
    budget = _Budget(_WORDS[language]["cut"])
    cells = [_shown(cell, marks, budget) for cell in notebook.cells] if notebook else []
    text: str = _template().render(
        cells=[cell for cell in cells if cell],
        marks=marks,
        note=note,
        say=_WORDS[language],
        language=language,
        problem_set=problem_set,
        student=_plain(student),
        css=Markup(_CSS),
    )
    return text


class _Budget:
    """How much of outputs and pictures a page still takes."""

    def __init__(self, cut: str) -> None:
        self.cut = cut
        self.text = self.sources = MAX_PAGE
        self.pictures, self.pixels = MAX_PICTURES, Pixels()

    def take(self, text: str) -> str:
        """As much of a text as may be shown."""
        most = min(MAX_TEXT, self.text)
        self.text -= min(len(text), most)
        return text if len(text) <= most else f"{text[:most]}\n{self.cut}"

    def source(self, text: str) -> str:
        """As much of a cell's source as may be shown; cut off, it ends in the words that say so."""
        most = min(MAX_SOURCE, self.sources)
        self.sources -= min(len(text), most)
        return text if len(text) <= most else f"{text[:most]}\n\n{self.cut}"

    def picture(self, kind: str, data: str) -> bool:
        """Whether a picture may be shown."""
        if len(data) > min(MAX_PICTURE, self.pictures) or not self.pixels.take(data, kind):
            return False
        self.pictures -= len(data)
        return True


def _shown(cell: Any, marks: SubmissionMarks, budget: _Budget) -> dict[str, Any] | None:
    """What the template needs of a cell; None where there is nothing to see."""
    metadata = cell.metadata.get("nbgrader", {})
    name = str(metadata.get("grade_id", ""))
    shown = {"name": name, "mark": marks.items.get(name), "comment": None, "answer": metadata.get("solution")}
    comment = marks.comments.get(name, "")
    if comment:
        shown["comment"] = "none" if comment == NO_RESPONSE else _prose(comment, {}, budget)
    if cell.cell_type != "code":
        kind = "words" if metadata.get("grade") else "prose"
        return {**shown, "kind": kind, "body": _prose(cell.source, cell.get("attachments", {}), budget)}
    if metadata.get("grade") and not metadata.get("solution"):
        return {**shown, "kind": "verdict", "lines": _verdict(cell.outputs, budget)}
    outputs = [_output(output, budget) for output in cell.outputs]
    if not cell.source.strip() and not outputs:
        return None
    return {
        **shown,
        "kind": "code",
        "body": _code(cell.source, budget),
        "outputs": list(filter(None, outputs)),
    }


def _verdict(outputs: list[Any], budget: _Budget) -> list[tuple[str, str]]:
    """The lines of the examiner's report, each with the class that colours it; what the points are, the head says."""
    text = "".join(output.text for output in outputs if output.output_type == "stream")
    kinds = {"✓": "right", "✗": "wrong", "→": "hint"}
    lines = budget.take(_plain(text)).splitlines()[1:]
    return [(kinds.get(line.strip()[:1], "more"), line.strip()) for line in lines if line.strip()]


def _output(output: Any, budget: _Budget) -> dict[str, Any] | None:
    if output.output_type == "stream":
        return {"kind": "text", "body": budget.take(_plain(output.text))}
    if output.output_type == "error":
        text = "\n".join(output.traceback) or f"{output.ename}: {output.evalue}"
        return {"kind": "error", "body": budget.take(_plain(text))}
    data = output.get("data", {})
    for kind in KINDS:
        address = _picture(kind, data.get(kind), budget)
        if address:
            return {"kind": "picture", "body": address}
    text = data.get("text/plain", "")
    return {"kind": "text", "body": budget.take(_plain(text))} if isinstance(text, str) and text else None


def _picture(kind: str, data: Any, budget: _Budget) -> str:
    """A data URI; empty where it is no such picture, or one too many."""
    if not isinstance(data, str) or not budget.picture(kind, data):
        return ""
    return f"data:{kind};base64,{''.join(data.split())}"


def _plain(text: str) -> str:
    """Text alone: no colours, no control characters, and nothing that stands for a formula."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return plain_text(lines, len(lines)).replace(_OPEN, "").replace(_CLOSE, "")


def _code(source: str, budget: _Budget) -> Markup:
    source = without_blanks(_plain(source))
    shown = budget.source(source)
    if shown != source:
        return Markup("<pre>{}</pre>").format(shown)
    pygments = importlib.import_module("pygments")  # untyped
    lexer = importlib.import_module("pygments.lexers").PythonLexer()
    formatter = importlib.import_module("pygments.formatters").HtmlFormatter()
    return Markup(pygments.highlight(source, lexer, formatter))


TAGS = {
    "a", "abbr", "b", "blockquote", "br", "code", "dd", "del", "details", "div", "dl", "dt", "em", "h1", "h2", "h3",
    "h4", "h5", "h6", "hr", "i", "img", "kbd", "li", "ol", "p", "pre", "s", "small", "span", "strong", "sub", "summary",
    "sup", "table", "tbody", "td", "th", "thead", "tr", "u", "ul",
}  # fmt: skip


def _prose(source: str, attachments: Any, budget: _Budget) -> Markup:
    """Markdown as HTML that can't run, load or cover anything; formulas as MathML."""
    formulas: list[str] = []
    text = budget.source(_plain(source))
    try:
        dirty = _markdown(formulas)(text)
    except RecursionError:
        dirty = f"<pre>{html.escape(text)}</pre>"
    clean = nh3.clean(
        str(dirty),
        tags=TAGS,
        attributes={"a": {"href", "title"}, "img": {"src", "alt"}, "td": {"align"}, "th": {"align"}},
        url_schemes={"http", "https", "mailto", "attachment"},
        attribute_filter=lambda tag, name, value: _attribute(tag, name, value, attachments, budget),
    )
    return Markup(_FORMULA.sub(lambda match: _formula(formulas, int(match[1])), clean))


def _attribute(tag: str, name: str, value: str, attachments: Any, budget: _Budget) -> str | None:
    """An attribute as it may stay: of pictures only those that the cell itself carries, and nothing with a formula."""
    if (tag, name) != ("img", "src"):
        return _FORMULA.sub("", value)
    bundle = attachments.get(value.removeprefix("attachment:"), {}) if isinstance(attachments, dict) else {}
    found = [_picture(kind, bundle.get(kind), budget) for kind in KINDS] if isinstance(bundle, dict) else []
    return next(filter(None, found), None)


# What stands for a formula while the text around it is cleaned.
_OPEN, _CLOSE = "\ue000", "\ue001"
_FORMULA = re.compile(rf"{_OPEN}(\d{{1,6}}){_CLOSE}")


def _markdown(formulas: list[str]) -> Any:
    """A converter of Markdown that puts its formulas aside."""

    def aside(text: str, *, display: bool) -> str:
        formulas.append(_mathml(text.strip(), display=display))
        return f"{_OPEN}{len(formulas) - 1}{_CLOSE}"

    renderer = mistune.HTMLRenderer(escape=False, allow_harmful_protocols=True)  # cleaned later
    markdown = mistune.create_markdown(renderer=renderer, plugins=["table", "strikethrough", "math"])
    renderer.register("inline_math", lambda _, text: aside(text, display=False))
    renderer.register("block_math", lambda _, text: f"<p>{aside(text, display=True)}</p>")
    return markdown


def _formula(formulas: list[str], number: int) -> str:
    """A formula, once: who writes what stands for one (as an entity) could show it thousands of times."""
    found = formulas[number] if number < len(formulas) else ""
    formulas[number : number + 1] = [""] * bool(found)
    return found


_OPENS = re.compile(r"\\[lu][A-Za-z]*|\\\{|[(\[⟨⟦⟬⟮⌈⌊⌜⌞⎰⦃⦅⦇⦉⟅⦗（［｛]")


def _mathml(tex: str, *, display: bool) -> str:
    """The formula as MathML, or its TeX where that is not understood."""
    # The converter's time doubles with every bracket that is opened and not closed.
    if len(tex) <= MAX_FORMULA and len(_OPENS.findall(tex)) <= MAX_BRACKETS:
        try:
            return str(_tex().convert_with_local_state(tex, displaystyle=display))
        except LatexError:
            pass
    return f"<code>{html.escape(tex[:MAX_FORMULA])}</code>"


@functools.cache
def _tex() -> Any:
    return LatexToMathML(fancy_error=False)


@functools.cache
def _template() -> Any:
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["points"] = lambda value: f"{value:g}"
    return environment.from_string(_PAGE)


_PAGE = """\
{% macro earned(mark, unit="") %}
{% if not mark or mark.score is none %}{{ say.waits }}
{%- else %}{{ mark.score | points }} / {{ mark.points | points }} {{ unit }}{% endif %}
{% endmacro %}
<!DOCTYPE html>
<html lang="{{ language }}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{{ problem_set }}: {{ say.title }}</title>
<style>
{{ css }}
</style>
</head>
<body>
<main>
<h1>{{ problem_set }} <small>{{ student }}</small></h1>
{% if note %}<p class="note">{{ note }}</p>{% endif %}
<table class="marks">
<caption>{{ say.title }}</caption>
<thead><tr><th scope="col">{{ say.item }}</th><th scope="col">{{ say.score }}</th></tr></thead>
<tbody>
{% for name, mark in marks.items.items() %}
<tr><th scope="row"><a href="#{{ name }}">{{ name }}</a></th><td>{{ earned(mark) }}</td></tr>
{% endfor %}
{% if marks.late_penalty %}
<tr><th scope="row">{{ say.late }}</th><td>−{{ marks.late_penalty | points }}</td></tr>
{% endif %}
</tbody>
<tfoot>
<tr><th scope="row">{{ say.total }}</th><td>{{ marks.score | points }} / {{ marks.points | points }}</td></tr>
</tfoot>
</table>
{% for cell in cells %}
{% if cell.kind == "prose" %}
<section class="prose">{{ cell.body }}</section>
{% elif cell.kind == "verdict" %}
<section class="verdict" id="{{ cell.name }}">
<h2><code>{{ cell.name }}</code> <span>{{ earned(cell.mark, say.points) }}</span></h2>
{% for kind, line in cell.lines %}
<p class="{{ kind }}">{{ line }}</p>
{% endfor %}
</section>
{% elif cell.kind == "words" %}
<section class="verdict" id="{{ cell.name }}">
<h2><code>{{ cell.name }}</code> <span>{{ earned(cell.mark, say.points) }}</span></h2>
<div class="prose answer">{{ cell.body }}</div>
</section>
{% else %}
<section class="code">
{{ cell.body }}
{% for output in cell.outputs %}
{% if output.kind == "picture" %}
<img src="{{ output.body }}" alt="">
{% else %}
<pre class="{{ output.kind }}" tabindex="0">{{ output.body }}</pre>
{% endif %}
{% endfor %}
</section>
{% endif %}
{% if cell.comment %}
<p class="comment"><b>{{ say.comment }}:</b> {% if cell.comment == "none" %}{{ say.none }}{% endif %}</p>
{% if cell.comment != "none" %}<div class="prose comment">{{ cell.comment }}</div>{% endif %}
{% endif %}
{% endfor %}
</main>
</body>
</html>
"""

_CSS = """\
:root { color-scheme: light; --line: #d0d7de; --soft: #f6f8fa; --good: #116329; --bad: #a40e26; --hint: #7d4e00; }
* { box-sizing: border-box; }
body { margin: 0; background: #fff; color: #1f2328; font: 16px/1.6 system-ui, "Noto Sans KR", "Apple SD Gothic Neo",
  "Malgun Gothic", sans-serif; overflow-wrap: anywhere; word-break: keep-all; }
main { max-width: 52rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; } h1 small { font-weight: normal; color: #57606a; }
h2 { font-size: 1.1rem; margin: 0 0 .4rem; }
h2 { display: flex; align-items: baseline; justify-content: space-between; gap: 1rem; flex-wrap: wrap; }
.prose h1, .prose h2, .prose h3 { display: block; font-size: 1.15rem; margin: 1.2rem 0 .4rem; }
table { border-collapse: collapse; max-width: 100%; } th, td { text-align: left; padding: .25rem .9rem .25rem 0;
  border-bottom: 1px solid var(--line); vertical-align: top; }
.marks caption { text-align: left; font-weight: bold; } .marks td { text-align: right; padding-right: 0; }
.marks thead th:last-child { text-align: right; padding-right: 0; }
.prose code { overflow-wrap: normal; }
.marks tbody th { font-weight: normal; } .marks { min-width: 18rem; margin-bottom: 1.5rem; }
section { margin: 1rem 0; } pre { margin: 0; padding: .6rem .8rem; overflow-x: auto; white-space: pre;
  font: 13px/1.5 ui-monospace, "Cascadia Mono", Menlo, Consolas, "D2Coding", monospace; word-break: normal; }
code { font: .92em ui-monospace, Menlo, Consolas, monospace; }
.code { border: 1px solid var(--line); border-radius: 6px; overflow: hidden; }
.code .highlight { background: var(--soft); }
.code pre.text, .code pre.error { border-top: 1px solid var(--line); white-space: pre-wrap; overflow-wrap: anywhere; }
.code pre.error { color: var(--bad); background: #fff5f5; }
.code img { display: block; max-width: 100%; padding: .5rem; }
.verdict { border: 1px solid var(--line); border-left: 5px solid #57606a; border-radius: 6px; padding: .7rem 1rem; }
.verdict p { margin: .2rem 0 .2rem 1.2rem; text-indent: -1.2rem; }
.verdict p.more { margin-left: 2.4rem; text-indent: 0; }
.right { color: var(--good); } .wrong { color: var(--bad); } .hint { color: var(--hint); }
.verdict p.hint { background: #fff8e6; padding: .3rem .5rem .3rem 1.7rem; margin-left: 0; border-radius: 4px; }
.note, .comment { background: #fff8e6; padding: .6rem .9rem; border-radius: 6px; margin: .4rem 0; }
.prose { overflow-x: auto; } .prose img { max-width: 100%; } .prose pre { background: var(--soft); }
blockquote { margin-left: 0; padding-left: 1rem; border-left: 3px solid var(--line); }
a { color: #0550ae; } math { font-size: 1.05em; }
.highlight .k, .highlight .kn, .highlight .kc, .highlight .ow { color: #a40e26; }
.highlight .s1, .highlight .s2, .highlight .sd, .highlight .sa, .highlight .si { color: #0a3069; }
.highlight .c1 { color: #57606a; } .highlight .nf, .highlight .nc { color: #6639ba; }
.highlight .mi, .highlight .mf, .highlight .nb { color: #0550ae; }
"""
