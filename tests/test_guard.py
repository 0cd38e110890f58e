"""What an answer may do to a notebook: never end, end the notebook, print without end, change what is set."""

from __future__ import annotations

import contextlib
import functools
import importlib
import io
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from double_task import TASK, X, double

from course_lib.checks import Checker, checker
from course_lib.checks.cases import STOPPED
from course_lib.checks.guard import LETTERS, Watch, guard

GUARD = importlib.import_module("course_lib.checks.guard")
PATIENCE = 30  # seconds, for what comes at once unless the guard fails
# "begun": an answer is where it does not go on; "excused": the guard has found that it may take its time. No events: a
# signal that comes while an event is set may leave its lock taken for ever.
HAPPENED: set[str] = set()


def wait_for(what: str) -> None:
    end = time.monotonic() + PATIENCE
    while what not in HAPPENED and time.monotonic() < end:
        time.sleep(0.01)


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Nothing of a check stays behind. Where tests run in the background SIGINT is ignored: not in these."""
    found = signal.signal(signal.SIGINT, signal.default_int_handler)
    before = (signal.getsignal(signal.SIGINT), sys.stdout, sys.stderr, np.geterr(), warnings.filters[:])
    yield
    assert before == (signal.getsignal(signal.SIGINT), sys.stdout, sys.stderr, np.geterr(), warnings.filters)
    assert sys.getprofile() is None
    signal.signal(signal.SIGINT, found)


class Late(Watch):
    """Its time begins when an answer has begun, however busy the machine is."""

    def _wait(self) -> None:
        wait_for("begun")
        super()._wait()


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check stops what does not end a moment after it has begun."""
    HAPPENED.clear()
    monkeypatch.setattr(checker, "SECONDS", 0.1)
    monkeypatch.setattr(GUARD, "Watch", Late)


def rests() -> None:
    HAPPENED.add("begun") or time.sleep(PATIENCE)


def endless() -> Iterator[int]:
    """As good as endless: no test hangs where nothing stops it."""
    HAPPENED.add("begun")
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        yield 1


def loops(x: Any, plus: int = 0) -> Any:
    n = 0
    while n < next(endless()):
        x = 2 * x
    return x


def sleeps(x: Any, plus: int = 0) -> Any:
    rests()


def waits(x: Any, plus: int = 0) -> Any:
    HAPPENED.add("begun")
    threading.Event().wait(PATIENCE)


def catches(x: Any, plus: int = 0) -> Any:
    try:
        rests()
    except BaseException:
        return 2 * x + plus


def catches_once(x: Any, plus: int = 0) -> Any:
    with contextlib.suppress(BaseException):
        rests()
    rests()


def helps(x: Any, plus: int = 0) -> Any:
    return sleeps(x)


@functools.wraps(sleeps)
def wrapped(*given: Any, **named: Any) -> Any:
    return sleeps(*given, **named)


class Built:
    def __init__(self, x: Any, plus: int = 0) -> None:
        rests()


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("answer", [sleeps, catches, catches_once, helps, wrapped, Built])
def test_a_check_stops_what_does_not_end_and_says_where_that_was(
    answer: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert Checker({"double": TASK}, "en")("double", answer) == 0
    said, err = capsys.readouterr()
    lines = said.splitlines()
    assert lines[1:6] == [
        "  ✗ plain (2 points)",
        "      It had not ended after 0.1 seconds and was stopped. Look for a",
        "        loop that doesn't end.",
        "      It was at this line:",
        '          HAPPENED.add("begun") or time.sleep(PATIENCE)',
    ]
    assert lines[6:8] == ["  ✗ shifted (1 point)", "      The same as above."]
    assert err == ""


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("answer", [loops, waits, lambda x, plus=0: [*endless()]])
def test_a_check_stops_a_loop_and_a_wait(answer: Callable[..., Any]) -> None:
    with Late(0.1) as ask:
        outcome = ask(answer, ("x",), {"x": X})
    assert (outcome.error, outcome.message) == (STOPPED, "0.1")
    assert outcome.line in Path(__file__).read_text(encoding="utf-8")
    assert outcome.line


@pytest.mark.usefixtures("soon")
def test_a_check_keeps_what_ended_before(capsys: pytest.CaptureFixture[str]) -> None:
    check = Checker({"double": TASK}, "ko")
    assert check("double", lambda x, plus=0: sleeps(x) if plus else 2 * x) == 2
    said = capsys.readouterr().out
    assert "✓ 보통 (2점)" in said
    assert "0.1초가 지나도 끝나지 않아 멈췄습니다. 끝나지 않는 반복문이" in said
    assert "time.sleep(PATIENCE)" in said


def press_stop() -> None:
    signal.raise_signal(signal.SIGINT)


def is_stopped(x: Any, plus: int = 0) -> Any:
    try:
        press_stop()
        time.sleep(PATIENCE)
    finally:
        press_stop()


@pytest.mark.parametrize(
    ("language", "said"),
    [("ko", "끝나기 전에 실행을 멈췄습니다."), ("en", "You stopped it before it ended.")],
)
def test_the_stop_button_is_answered_in_words(
    language: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert Checker({"double": TASK}, language)("double", is_stopped) == 0
    out, err = capsys.readouterr()
    assert said in out
    assert "press_stop()" in out or "signal.raise_signal" in out
    assert err == ""


def test_the_stop_button_is_answered_where_it_is_not_ours(capsys: pytest.CaptureFixture[str]) -> None:
    """In another thread than the main one KeyboardInterrupt comes by other ways."""

    def interrupted(x: Any, plus: int = 0) -> Any:
        raise KeyboardInterrupt

    points: list[float] = []
    check = Checker({"double": TASK}, "en")
    for answer in (interrupted, double):
        thread = threading.Thread(target=lambda answer=answer: points.append(check("double", answer)))
        thread.start()
        thread.join()
    assert points == [0, 3]
    assert "You stopped it before it ended.\n      It was at this line:" in capsys.readouterr().out


def test_two_checks_at_once_leave_all_as_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    check, points = Checker({"double": TASK}, "en"), []

    def slow(x: Any, plus: int = 0) -> Any:
        time.sleep(0.05)
        return double(x, plus)

    threads = [threading.Thread(target=lambda: points.append(check("double", slow))) for _ in range(3)]
    for thread in threads:
        thread.start()
    check("double", lambda x, plus=0: check("double", double) and slow(x, plus))  # one within another
    for thread in threads:
        thread.join()
    assert points == [3, 3, 3]
    assert capsys.readouterr().out.count("double: 3 / 3 points") == 6


def test_a_signal_between_two_calls_stops_what_would_follow() -> None:
    with Watch(30) as ask:
        assert ask(double, ("x",), {"x": X}).error is None
        press_stop()
        assert ask(double, ("x",), {"x": X}).error == STOPPED
    with pytest.raises(KeyboardInterrupt):
        press_stop()


def test_no_signal_comes_late() -> None:
    for number in range(300):
        with Watch(0.001) as ask:
            ask(lambda x, n=number: time.sleep(0.001 + n % 7 / 1e5), ("x",), {"x": X})
    time.sleep(0.1)


def test_a_check_works_without_threads_and_where_nobody_knows_the_handler(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_threads(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", no_threads)
    check = Checker({"double": TASK})
    assert check("double", double) == 3
    monkeypatch.setattr(signal, "getsignal", lambda _: None)
    assert check("double", double) == 3
    monkeypatch.undo()


@pytest.fixture
def excused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is noted when the guard has let an answer go on."""

    def noted(frame: Any) -> bool:
        if found := takes_its_time(frame):
            HAPPENED.add("excused")
        return found

    HAPPENED.clear()
    takes_its_time = GUARD._takes_its_time
    monkeypatch.setattr(GUARD, "_takes_its_time", noted)


@pytest.mark.usefixtures("excused")
def test_who_goes_through_an_answer_step_by_step_is_not_stopped() -> None:
    def stepped(x: Any) -> Any:
        sys.settrace(lambda *_: None)
        HAPPENED.add("begun")
        wait_for("excused")
        sys.settrace(None)
        return 2 * x

    with Late(1) as ask:
        assert ask(stepped, ("x",), {"x": X}).error is None
    assert "excused" in HAPPENED


@pytest.mark.usefixtures("excused")
def test_a_library_may_take_long_to_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"import {__name__} as test\ntest.HAPPENED.add('begun')\ntest.wait_for('excused')\n"
    (tmp_path / "loads_slowly.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)

    def loads(x: Any) -> Any:
        importlib.import_module("loads_slowly")
        return 2 * x

    with Late(1) as ask:
        assert ask(loads, ("x",), {"x": X}).error is None
    assert "excused" in HAPPENED


class Own(BaseException):
    def __str__(self) -> str:
        return None  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("end", "said"), [(SystemExit, "SystemExit"), (GeneratorExit, "GeneratorExit"), (Own, "Own")]
)
def test_an_answer_does_not_end_the_notebook(
    end: type[BaseException], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def ends(x: Any, plus: int = 0) -> Any:
        raise end

    assert Checker({"double": TASK}, "en")("double", ends) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2:4] == [f"      The function ended in an error: {said}", "          raise end"]


def test_of_what_an_answer_prints_the_first_part_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    def prints(x: Any, plus: int = 0) -> Any:
        for number in range(100_000):
            print(number)
        return double(x, plus)

    for language, notice in (("ko", "… (출력이 길어 나머지는"), ("en", "… (more was printed")):
        assert Checker({"double": TASK}, language)("double", prints) == 3
        said = capsys.readouterr().out
        printed, report = said.split(notice)
        assert len(printed) == LETTERS + 1
        assert printed.startswith("0\n1\n2\n")
        assert "double: 3 / 3" in report
    Checker({"double": TASK}, "en")("double", lambda x, plus=0: (print("x" * 10), 2 * x + plus)[1])
    assert capsys.readouterr().out.count("x" * 10 + "\n") == 2


async def later(x: Any, plus: int = 0) -> Any:
    return x


def dies_in_a_thread(x: Any, plus: int = 0) -> Any:
    thread = threading.Thread(target=lambda: print("careful", file=sys.stderr))
    thread.start()
    thread.join()
    return double(x, plus)


def changes_settings(x: Any, plus: int = 0) -> Any:
    np.seterr(all="raise")
    warnings.simplefilter("error")
    return double(x, plus)


def closes(x: Any, plus: int = 0) -> Any:
    sys.stdout.flush()
    sys.stdout.close()
    sys.stderr.close()
    return double(x, plus)


def takes_stdout_away(x: Any, plus: int = 0) -> Any:
    sys.stdout = sys.stderr = None  # type: ignore[assignment]
    return double(x, plus)


@pytest.mark.parametrize(
    ("answer", "points"),
    [(later, 0), (dies_in_a_thread, 3), (changes_settings, 3), (closes, 3), (takes_stdout_away, 3)],
)
def test_what_an_answer_changes_is_set_back_and_nothing_reaches_stderr(
    answer: Callable[..., Any], points: float, capfd: pytest.CaptureFixture[str]
) -> None:
    check = Checker({"double": TASK}, "en")
    assert check("double", answer) == points
    out, err = capfd.readouterr()
    assert out.startswith(f"double: {points} / 3 points")
    assert err == ""


@pytest.mark.parametrize("language", ["ko", "en"])
@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "cp949", "utf-8", None])
def test_a_check_speaks_where_not_every_letter_can_be_shown(
    encoding: str | None, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = io.BytesIO()
    out = io.TextIOWrapper(written, encoding=encoding, errors="strict") if encoding else io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    assert Checker({"double": TASK}, language)("double", lambda x, plus=0: 2 * x) == 2
    out.flush()
    said = out.getvalue() if isinstance(out, io.StringIO) else written.getvalue().decode(str(encoding))
    monkeypatch.undo()
    assert said.startswith("double: 2 / 3")
    assert (" ✗ " in said) is (encoding in ("utf-8", None))


def test_guard_asks_as_call_does() -> None:
    with guard(30, "") as ask:
        assert np.array_equal(ask(double, ("x",), {"x": X, "plus": 1}).value, 2 * X + 1)
        assert ask(None, ("x",), {"x": X}).error == "NotCallable"


ENDLESS = "def double(x, *, plus=0):\n    begin()\n    while True:\n        x = x + 1"
STOP = """
import os, signal, threading
begin = threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT)).start
"""


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [1, 20])
def test_a_notebook_goes_on_after_a_loop_that_does_not_end(seconds: int, tmp_path: Path) -> None:
    """In a kernel: the check stops it after a second, or the stop button does, a second after it has begun."""
    from nbclient import NotebookClient

    from course_lib.checks import save_cases
    from course_lib.grading.notebook import new_cell, new_notebook

    save_cases(tmp_path / "cases.npz", [TASK])
    sources = [
        "from course_lib.checks import checker",
        f"checker.SECONDS = {seconds}; check = checker.load(language='en')",
        ENDLESS,
        STOP if seconds > 1 else "begin = int",
        'check("double", double)',
        "checker.SECONDS = 20\ndef double(x, *, plus=0):\n    return 2 * x + plus",
        'check("double", double)',
    ]
    notebook = new_notebook([new_cell("code", f"c{n}", source, {}) for n, source in enumerate(sources)], {})
    NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(tmp_path)}}).execute()
    stopped, right = (notebook.cells[n].outputs for n in (4, 6))
    assert [output.get("name") for output in (*stopped, *right)] == ["stdout", None, "stdout", None]
    begins = "It had not ended after 1 seconds" if seconds == 1 else "You stopped it before it ended."
    assert begins in stopped[0].text
    assert "          while True:\n" in stopped[0].text or "          x = x + 1\n" in stopped[0].text
    assert "3 / 3 points" in right[0].text


def test_a_task_may_have_any_name(capsys: pytest.CaptureFixture[str]) -> None:
    check = Checker({"double": TASK}, "en")
    for task in (X, None, [], double):
        with pytest.raises(checker.NotInPlace, match="There is no task"):
            check(task, double)  # type: ignore[arg-type]
