"""The check in a notebook, and what `load` says of what is in place."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from double_task import TASK, double

import course_lib
from course_lib.checks import Checker, NotInPlace, Way, load, save_cases
from course_lib.checks.wording import COLUMNS, _columns

ROOT = Path(__file__).parents[1]


def test_load_says_in_one_line_that_all_is_in_place(tmp_path, capsys):
    save_cases(tmp_path / "cases.npz", [TASK])
    load(tmp_path / "cases.npz", "en")
    ready = f"All is in place: 1 task, course_lib {course_lib.__version__}, NumPy {np.__version__}.\n"
    assert capsys.readouterr() == (ready, "")
    save_cases(tmp_path / "cases.npz", [TASK, TASK], modules=["pytest"])
    load(tmp_path / "cases.npz", "ko")
    assert capsys.readouterr().out.startswith("준비됐습니다: 과제 2개, course_lib ")
    load(tmp_path / "cases.npz", "en")
    assert capsys.readouterr().out.endswith(f", pytest {pytest.__version__}.\n")


def test_load_says_in_one_line_which_module_is_missing_that_one_can_do_without(tmp_path, capsys):
    save_cases(tmp_path / "cases.npz", [TASK], modules=["no_such_module"])
    for language, begins, names in (
        ("ko", "준비됐습니다: ", "no_such_module이(가) 설치되지 않았지만 NumPy로"),
        ("en", "All is in place: ", "no_such_module is not installed, but NumPy will do."),
    ):
        load(tmp_path / "cases.npz", language)
        out = capsys.readouterr().out
        assert out.startswith(begins)
        assert names in out
        assert "%pip install -r requirements.txt" in out
        assert out.count("\n") == 1


def test_load_says_that_the_library_is_another(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("course_lib.checks.case_file.LIBRARY", "0.0.1")
    save_cases(tmp_path / "cases.npz", [TASK])
    monkeypatch.undo()
    load(tmp_path / "cases.npz", "en")
    said = capsys.readouterr().out
    assert said.startswith(
        f"cases.npz belongs to course_lib 0.0.1, and {course_lib.__version__} is installed."
    )


def test_load_says_that_the_library_is_another_where_it_can_read_nothing(tmp_path, capsys, monkeypatch):
    """What a later library writes may have fields that this one doesn't know."""
    monkeypatch.setattr("course_lib.checks.case_file.LIBRARY", "9.0.0")
    unknown = {"name": "double", "unknown": 1}
    monkeypatch.setattr("course_lib.checks.case_file._describe", lambda task, pack: unknown)
    save_cases(tmp_path / "cases.npz", [TASK])
    monkeypatch.undo()
    check = load(tmp_path / "cases.npz", "ko")
    assert capsys.readouterr().out.startswith("cases.npz는 course_lib 9.0.0의 것인데 설치된 것은 ")
    assert check.tasks == {}


def test_load_refuses_the_file_of_another_problem_set(tmp_path):
    save_cases(tmp_path / "cases.npz", [TASK], problem_set="ps2")
    assert load(tmp_path / "cases.npz", problem_set="ps2").tasks
    with pytest.raises(NotInPlace, match=r"belongs to ps2. Copy that of ps1 here"):
        load(tmp_path / "cases.npz", "en", problem_set="ps1")
    with pytest.raises(NotInPlace, match=r"ps2의 것입니다\. ps1의 것을"):
        load(tmp_path / "cases.npz", "ko", problem_set="ps1")


@pytest.mark.parametrize("language", ["ko", "en"])
def test_load_says_in_one_line_what_is_wrong_with_the_file(tmp_path, language):
    damaged = tmp_path / "damaged.npz"
    damaged.write_bytes(b"PK")
    said = set()
    for path in (damaged, tmp_path / "missing.npz"):
        with pytest.raises(NotInPlace, match=path.name) as caught:
            load(path, language)
        (line,) = caught.value._render_traceback_()  # what IPython shows in the place of a traceback
        assert line == str(caught.value)
        assert "\n" not in line
        said.add(line.replace(path.name, ""))
    assert len(said) == 2


def test_checker_prints_to_stdout_only_and_knows_its_tasks(capsys):
    check = Checker({"double": TASK}, "en")
    assert check("double", double) == 3.0
    captured = capsys.readouterr()
    assert captured.out.startswith("double: 3 / 3 points")
    assert captured.err == ""
    with pytest.raises(NotInPlace, match=r"no task 'triple' in this problem set. There are: double."):
        check("triple", double)


def test_checker_keeps_the_inputs_that_failed_first(capsys):
    check = Checker({"double": TASK}, "en")

    def spoiled(x, plus=0):
        x += plus
        return x

    check("double", lambda x, plus=0: 2 * x)
    assert 'fail first:\n      double(**check.failing["double"])\n' in capsys.readouterr().out
    assert sorted(check.failing["double"]) == ["plus", "x"]
    spoiled(**check.failing["double"])  # they are copies
    assert check("double", double) == 3
    assert check.failing == {}
    check("double", None)
    check("double", lambda x, plus=0: (_ for _ in ()).throw(NotImplementedError))
    assert check.failing == {}


def test_checker_keeps_tensors_where_the_task_takes_tensors(capsys):
    torch = pytest.importorskip("torch")
    task = dataclasses.replace(TASK, way=Way(torch=True, gradients=("x",)), hints={})
    check = Checker({"double": task}, "ko")
    check("double", lambda x, plus=0: 3 * x)
    said = capsys.readouterr().out
    assert said.endswith('  그 입력으로 직접 해 보기:\n      double(**check.failing["double"])\n')
    assert isinstance(check.failing["double"]["x"], torch.Tensor)


def test_checker_returns_the_points_as_a_number_that_nbgrader_reads(capsys):
    points = Checker({"double": TASK}, "en")("double", lambda x, plus=0: 2 * x)
    assert repr(points) == "2.0"


def test_load_refuses_an_unknown_language(tmp_path):
    save_cases(tmp_path / "cases.npz", [TASK])
    with pytest.raises(ValueError, match="language must be one of ko, en: it is 'fr'"):
        load(tmp_path / "cases.npz", "fr")


@pytest.mark.parametrize(
    "answer", [lambda *inputs, **named: 1 / 0, lambda *inputs, **named: np.zeros(1), None]
)
@pytest.mark.parametrize(
    "folder", sorted((ROOT / "exercises").glob("*/*/")), ids=lambda path: "-".join(path.parts[-2:])
)
def test_check_writes_lines_that_a_narrow_window_shows_whole(folder, answer, capsys):
    check = load(folder / "cases.npz", language=folder.parent.name)
    capsys.readouterr()
    for task in check.tasks:
        check(task, answer)
    shown = capsys.readouterr().out.splitlines()
    wide = [line for line in shown if _columns(line) > COLUMNS]
    assert shown
    assert wide == []
