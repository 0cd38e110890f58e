"""What is said of a verdict, in the languages of the course."""

from __future__ import annotations

import re
import textwrap
import unicodedata
from typing import Any

import numpy as np

from course_lib.checks.calling import ForbiddenCall, NoGradient, TooMuchMemory
from course_lib.checks.cases import (
    NOT_CALLABLE,
    NOT_DEFINED,
    RETURNED,
    STOPPED,
    WRONG_SIGNATURE,
    Outcome,
    TaskCases,
    Way,
)
from course_lib.checks.judging import PartVerdict, Verdict, alike


def report(verdict: Verdict, language: str, *, hidden: bool = False) -> str:
    """The verdict for its author to read. With `hidden`, nothing of the inputs or values shows.

    The shape that a result should have does: nobody can compute with it. The one that came doesn't, since its author
    could have written the inputs into it.
    """
    say, task = SAY[language], verdict.task
    lines = [f"{task.name}: {verdict.points:g} / {_points(task.points, say)}"]
    uncalled = next((p.outcome for p in verdict.parts if p.outcome and p.outcome.error == NOT_CALLABLE), None)
    if uncalled:
        return "\n".join(
            [*lines, f"  {say[_WRITTEN[task.way.kind]].format(name=task.name, got=uncalled.message)}"]
        )
    if any(part.outcome and part.outcome.error == NOT_DEFINED for part in verdict.parts):
        return "\n".join([*lines, f"  {say['undefined'].format(name=task.name)}"])
    if all(part.outcome and part.outcome.error == "NotImplementedError" for part in verdict.parts):
        return "\n".join([*lines, f"  {_unwritten(verdict, say)}"])
    for part in verdict.parts:
        title = part.part.title.in_language(language)
        lines.append(f"  {'✓' if part.earned else '✗'} {title} ({_points(part.part.points, say)})")
        if not part.earned:
            new = [f"      {line}" for line in _differences(part, say, hidden, task)]
            unsaid = _unsaid(new, lines, say)
            lines += unsaid or [f"      {say['again']}"] * bool(new)
    for mistake in verdict.mistakes:
        lines.append(f"  → {say['mistake']}: {task.hints[mistake].in_language(language)}")
    if verdict.points < task.points:
        lines.append(f"  {say['see']}: {_address(task, language)}")
    return "\n".join(lines)


COLUMNS = 72  # of a check's output, in a window of 700 pixels with the book beside it, too
# What no line ends within: a name and its shape, the place of an entry, a name and its number.
_WORD = re.compile(r"(?:\w+ )?[(\[][-\d, ]*[)\]]\S*|\w+ = \S+|[^\W\d]+ -?\d\S*|\S+")


def folded(text: str, columns: int = COLUMNS) -> str:
    """The text in lines of so many columns at most, broken at spaces, so that a notebook breaks no word.

    What continues a line stands deeper than it. A word that is longer, an address say, is left whole.
    """
    return "\n".join(_fold(line, columns) for line in text.splitlines())


def _fold(line: str, columns: int) -> str:
    if _columns(line) <= columns:
        return line
    start = line[: len(line) - len(line.lstrip())]
    first, *words = _WORD.findall(line)
    lines = [start + first]
    for word in words:
        longer = f"{lines[-1]} {word}"
        if _columns(longer) <= columns:
            lines[-1] = longer
        else:
            lines.append(f"{start}  {word}")
    return "\n".join(lines)


def _columns(text: str) -> int:
    """How wide the text is where all letters are of one width, and Hangul of two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def _points(points: float, say: dict[str, str]) -> str:
    return say["point" if points == 1 else "points"].format(points=points)


def _unwritten(verdict: Verdict, say: dict[str, str]) -> str:
    """That the function is a stub still, or another one that it calls."""
    task, outcome = verdict.task, verdict.parts[0].outcome
    assert outcome is not None
    stub, other = outcome.line == "raise NotImplementedError", outcome.message
    if stub and other.isidentifier():
        return say["other_unwritten"].format(name=task.name, other=other)
    return say["unwritten"].format(signature=task.signature)


def _address(task: TaskCases, language: str) -> str:
    return f"{task.site}{_PAGES[language]}{task.see}" if task.site else task.see


def _differences(part: PartVerdict, say: dict[str, str], hidden: bool, task: TaskCases) -> list[str]:
    assert part.failed is not None
    assert part.outcome is not None
    outcome, right = part.outcome, part.failed.right
    if outcome.value is None:
        return _no_value(outcome, say, hidden, task)
    if outcome.changed and not right.changed:
        return [say["changed"]]
    if right.value is None:
        return []
    if hidden:
        return _kinds_differ(outcome, right, say, task)
    given = ", ".join(f"{name} {_brief(value)}" for name, value in part.failed.inputs.items())
    return [f"{say['inputs']} {given}", *_values_differ(outcome, right, say, task)]


def _values_differ(outcome: Outcome, right: Outcome, say: dict[str, str], task: TaskCases) -> list[str]:
    """What the first value that differs has otherwise; of several values, which one that is."""
    for index, (got, expected) in enumerate(zip(outcome.values, right.values, strict=False)):
        which = _which(index, say, task.way)
        if got.shape != expected.shape:
            return [which + say["shape"].format(expected=expected.shape, got=got.shape)]
        if not alike(got, expected):
            return [which + say["dtype"].format(expected=expected.dtype, got=got.dtype)]
        with np.errstate(all="ignore"):
            close = np.isclose(expected, got, rtol=task.rtol, atol=task.atol, equal_nan=True)
        if not close.all():
            return [which + _first_difference(got, expected, close, say)]
    return []


def _kinds_differ(outcome: Outcome, right: Outcome, say: dict[str, str], task: TaskCases) -> list[str]:
    """The shape that the first value of another one should have, or the dtype; nothing of what came."""
    for index, (got, expected) in enumerate(zip(outcome.values, right.values, strict=False)):
        if not alike(got, expected):
            kind = "hidden_dtype" if got.shape == expected.shape else "hidden_shape"
            said = say[kind].format(shape=expected.shape, dtype=expected.dtype)
            return [_which(index, say, task.way) + said]
    return []


def _which(index: int, say: dict[str, str], way: Way) -> str:
    """Begins the sentence about a value: nothing where there is only one."""
    if index >= way.results:
        return say["gradient"].format(name=way.gradients[index - way.results]) + " "
    return say["result"].format(number=index + 1) + " " if way.results > 1 else ""


def _unsaid(new: list[str], lines: list[str], say: dict[str, str]) -> list[str]:
    """What fails alike in several parts is said once, and inputs not without what came of them."""
    unsaid = [line for line in new if line not in lines]
    inputs_alone = len(unsaid) == 1 < len(new) and unsaid[0].lstrip().startswith(say["inputs"])
    return [] if inputs_alone else unsaid


def _no_value(outcome: Outcome, say: dict[str, str], hidden: bool, task: TaskCases) -> list[str]:
    error = str(outcome.error)
    if error == WRONG_SIGNATURE:
        message = "" if hidden or not outcome.message else f" ({_words(outcome)})"
        return [say["signature"].format(signature=task.signature) + message]
    if error.startswith(RETURNED):
        wanted = "returned" if task.way.results == 1 else "returned_several"
        return [say[wanted].format(got=error.removeprefix(RETURNED), count=task.way.results)]
    if error == STOPPED:
        why = say["stopped" if outcome.message else "interrupted"].format(seconds=outcome.message)
        return [why, *([say["at"], _code(outcome.line)] if outcome.line else [])]
    if error == ForbiddenCall.__name__:
        return [say["forbidden"].format(name=outcome.message)]
    if error == NoGradient.__name__:
        named = outcome.message in task.way.gradients
        return [say["no_gradient"].format(name=outcome.message if named else ", ".join(task.way.gradients))]
    if error == TooMuchMemory.__name__:
        sizes = say["estimate"].format(sizes=outcome.message) if outcome.message and not hidden else ""
        return [say["memory"].format(sizes=sizes)]
    message = "" if hidden or not outcome.message else f": {_words(outcome)}"
    return [f"{say['raised']} {error}{message}", *([_code(outcome.line)] if outcome.line else [])]


def _code(line: str) -> str:
    """A line of the author's own in one line of the report: in two it would read as two. The rest is cut off."""
    room = COLUMNS - 12
    if _columns(line) > room:
        line = line[:room]
        while _columns(line) > room:
            line = line[:-1]
        line += " …"
    return f"    {line}"


def _words(outcome: Outcome) -> str:
    """The error's own words in one line."""
    return textwrap.shorten(outcome.message, 300, placeholder=" …")


def _brief(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return str(value.shape)
    return f"= {value:.6g}" if isinstance(value, float) else f"= {value}"


def _first_difference(got: np.ndarray, expected: np.ndarray, close: np.ndarray, say: dict[str, str]) -> str:
    index = tuple(int(i) for i in np.argwhere(~close)[0])
    numbers = _numbers(expected[index], got[index])
    where = say["entry"].format(index=list(index)) if index else ""
    return where + say["numbers"].format(expected=numbers[0], got=numbers[1])


def _numbers(*values: Any) -> list[str]:
    """The values with six digits, or as many as it takes to tell them apart."""
    shown = [[_number(value, digits) for value in values] for digits in (6, 9, 17)]
    return next((texts for texts in shown if len(set(texts)) == len(values)), shown[-1])


def _number(value: Any, digits: int) -> str:
    if isinstance(value, (np.bool_, np.integer)):
        return str(value)
    number = float(value)  # half precision can't be compared with what it can't hold
    # Whole numbers with all their digits, and a zero without a sign.
    return str(int(number)) if abs(number) < 2**53 and number.is_integer() else f"{number:.{digits}g}"


_PAGES = {"ko": "book/ko/", "en": "en/"}  # where the pages of a language lie in the site
_WRITTEN = {"function": "no_function", "class": "no_class"}

SAY = {
    "ko": {
        "ready": "준비됐습니다: {tasks}, {versions}.",
        "task": "과제 1개",
        "tasks": "과제 {count}개",
        "missing": "{path}이(가) 없습니다. {folder} 폴더에 노트북과 함께 두세요. "
        "Colab이라면 왼쪽의 폴더 아이콘을 눌러 올리세요.",
        "other_set": "이 폴더의 {path}은(는) {found}의 것입니다. "
        "{needed}의 것을 복사하고, 문제집마다 폴더를 따로 두세요.",
        "damaged": "{path}을(를) 읽을 수 없습니다. 받은 폴더에서 다시 복사하세요.",
        "other_library": "cases.npz는 course_lib {needed}의 것인데 설치된 것은 {found}입니다. "
        "새 셀에서 다음을 실행한 뒤 kernel을 다시 시작하세요: %pip install -r requirements.txt",
        "no_module": "{name}이(가) 설치되지 않았지만 NumPy로 풀 수 있습니다. "
        "{name}도 쓰려면 새 셀에서 다음을 실행한 뒤 kernel을 다시 시작하세요: %pip install -r requirements.txt",
        "no_task": "이 문제집에는 과제 {task!r}이(가) 없습니다. 있는 것: {tasks}.",
        "no_function": "{name}은(는) 함수여야 하는데 {got}입니다. 함수를 정의한 셀을 다시 실행하세요.",
        "undefined": "{name}이(가) 없습니다. 그것을 정의하는 셀이 어떤 오류로 끝났는지 보세요.",
        "no_class": "{name}은(는) class여야 하는데 {got}입니다. class를 정의한 셀을 다시 실행하세요.",
        "point": "{points:g}점",
        "points": "{points:g}점",
        "unwritten": "아직 작성하지 않았습니다. {signature}를 완성하세요.",
        "other_unwritten": "{name}이(가) 부르는 {other}을(를) 아직 작성하지 않았습니다. 그것부터 완성하세요.",
        "mistake": "흔한 실수와 결과가 같습니다",
        "see": "책에서 볼 곳",
        "try": "그 입력으로 직접 해 보기",
        "raised": "함수가 오류로 끝났습니다:",
        "stopped": "{seconds}초가 지나도 끝나지 않아 멈췄습니다. 끝나지 않는 반복문이 있는지 보세요.",
        "interrupted": "끝나기 전에 실행을 멈췄습니다.",
        "at": "그때 실행하던 줄:",
        "cut": "… (출력이 길어 나머지는 보이지 않습니다)",
        "signature": "함수를 부를 수 없습니다. {signature}로 정의하세요.",
        "returned": "배열 하나를 돌려주어야 하는데, 돌려준 것은 {got}입니다. return 문을 확인하세요.",
        "returned_several": "결과 {count}개를 돌려주어야 하는데, 돌려준 것은 {got}입니다. return 문을 확인하세요.",
        "again": "위와 같습니다.",
        "changed": "입력 배열의 내용이 바뀌었습니다. 입력은 그대로 두고 새 배열을 돌려주세요.",
        "forbidden": "이 과제에서는 {name}을(를) 쓸 수 없습니다. 직접 구현하세요.",
        "no_gradient": "결과에서 {name}까지 gradient가 이어지지 않습니다. 계산에 쓰이지 않았거나, "
        "graph가 끊겼습니다 (detach, torch.no_grad, torch.tensor, .numpy 등).",
        "memory": "한꺼번에 쓴 메모리가 너무 많습니다{sizes}. 큰 배열을 통째로 만들지 마세요.",
        "estimate": " (추정: {sizes})",
        "result": "{number}번째 결과:",
        "gradient": "{name}의 gradient:",
        "inputs": "입력:",
        "shape": "shape가 {expected}이어야 하는데 {got}입니다.",
        "dtype": "dtype이 {expected}이어야 하는데 {got}입니다.",
        "hidden_shape": "shape가 {shape}이어야 하는데 다른 shape가 나왔습니다.",
        "hidden_dtype": "dtype이 {dtype}이어야 하는데 다른 dtype이 나왔습니다.",
        "entry": "처음으로 다른 곳 {index}: ",
        "numbers": "기대한 값 {expected}, 나온 값 {got}.",
    },
    "en": {
        "ready": "All is in place: {tasks}, {versions}.",
        "task": "1 task",
        "tasks": "{count} tasks",
        "missing": "{path} is missing. Put it beside the notebook, in {folder}. "
        "In Colab, upload it with the folder icon on the left.",
        "other_set": "The {path} in this folder belongs to {found}. Copy that of {needed} here, "
        "and keep each problem set in a folder of its own.",
        "damaged": "{path} can't be read. Copy it again from the folder that you got.",
        "other_library": "cases.npz belongs to course_lib {needed}, and {found} is installed. "
        "In a new cell, run %pip install -r requirements.txt, and restart the kernel.",
        "no_module": "{name} is not installed, but NumPy will do. "
        "To use it, run %pip install -r requirements.txt in a new cell, and restart the kernel.",
        "no_task": "There is no task {task!r} in this problem set. There are: {tasks}.",
        "no_function": "{name} should be a function; it is of type {got}. Run the cell that defines it again.",
        "undefined": "There is no {name}. Look at the error in which the cell that defines it ended.",
        "no_class": "{name} should be a class; it is of type {got}. Run the cell that defines it again.",
        "point": "{points:g} point",
        "points": "{points:g} points",
        "unwritten": "Not written yet. Complete {signature}.",
        "other_unwritten": "{name} calls {other}, which is not written yet. Complete that first.",
        "mistake": "A common mistake gives the same",
        "see": "In the book",
        "try": "To try it on the inputs that fail first",
        "raised": "The function ended in an error:",
        "stopped": "It had not ended after {seconds} seconds and was stopped. Look for a loop that doesn't end.",
        "interrupted": "You stopped it before it ended.",
        "at": "It was at this line:",
        "cut": "… (more was printed than is shown)",
        "signature": "It can't be called as it is defined. Define it as {signature}.",
        "returned": "An array should come back, and {got} did. Look at the return statement.",
        "returned_several": "{count} results should come back, and {got} did. Look at the return statement.",
        "again": "The same as above.",
        "changed": "The input arrays were changed. Leave them as they are and return a new array.",
        "forbidden": "This task may not use {name}. Write it yourself.",
        "no_gradient": "No gradient gets from the result to {name}. It isn't used, or the graph is cut "
        "(detach, torch.no_grad, torch.tensor, .numpy, say).",
        "memory": "Too much memory is held at once{sizes}. Don't make the large array as a whole.",
        "estimate": " (an estimate: {sizes})",
        "result": "Result {number}:",
        "gradient": "The gradient of {name}:",
        "inputs": "Inputs:",
        "shape": "The shape should be {expected}; it is {got}.",
        "dtype": "The dtype should be {expected}; it is {got}.",
        "hidden_shape": "The shape should be {shape}; another one came.",
        "hidden_dtype": "The dtype should be {dtype}; another one came.",
        "entry": "The first entry that differs is {index}: ",
        "numbers": "expected {expected}, got {got}.",
    },
}
