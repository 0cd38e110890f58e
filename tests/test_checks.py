"""The check that students see: what it accepts, what it says, and the file that it reads."""

import dataclasses
import itertools
import sys
import tracemalloc
import warnings

import numpy as np
import pytest

import course_lib
from course_lib.checks import (
    Case,
    Checker,
    NotInPlace,
    Outcome,
    PartInfo,
    PartVerdict,
    TaskCases,
    Text,
    Verdict,
    Way,
    agree,
    call,
    judge,
    load,
    load_cases,
    report,
    save_cases,
)

X = np.array([[1.0, 2.0, 4.0], [8.0, 16.0, 32.0]])
TASK = TaskCases(
    name="double",
    signature="double(x, *, plus=0)",
    required=("x",),
    parts=(PartInfo("plain", 2, Text("보통", "plain")), PartInfo("shifted", 1, Text("더하기", "shifted"))),
    hints={"tripled": Text("세 배입니다.", "This is three times.")},
    see="chapter.html#double",
    rtol=1e-5,
    atol=1e-6,
    cases=(
        Case("plain", {"x": X}, Outcome(2 * X), {"tripled": Outcome(3 * X)}),
        Case("shifted", {"x": X, "plus": 1}, Outcome(2 * X + 1), {"tripled": Outcome(3 * X + 1)}),
    ),
)


def double(x, plus=0):
    return 2 * x + plus


def test_judge_accepts_any_name_and_kind_of_the_first_argument():
    assert judge(TASK, lambda values, plus=0: values * 2 + plus).points == 3
    assert judge(TASK, lambda values, plus=0: (2 * values + plus).tolist()).points == 3
    assert judge(TASK, lambda values, plus=0: (2 * values + plus).astype("float32")).points == 3


def test_judge_accepts_torch_tensors_with_gradients():
    torch = pytest.importorskip("torch")
    assert judge(TASK, lambda x, plus=0: 2 * torch.tensor(x, requires_grad=True) + plus).points == 3


def test_judge_calls_torch_in_one_thread_and_gives_the_threads_back():
    torch = pytest.importorskip("torch")
    before, threads = torch.get_num_threads(), []

    def double_in_threads(x, plus=0):
        threads.append(torch.get_num_threads())
        return double(x, plus)

    torch.set_num_threads(2)
    try:
        assert judge(TASK, double_in_threads).points == 3
        assert (set(threads), torch.get_num_threads()) == ({1}, 2)
    finally:
        torch.set_num_threads(before)


def test_judge_gives_the_points_of_the_parts_that_hold():
    assert judge(TASK, lambda x, plus=0: 2 * x).points == 2


def test_judge_names_a_mistake_only_where_all_of_it_fits():
    assert judge(TASK, lambda x, plus=0: 3 * x + plus).mistakes == ["tripled"]
    assert judge(TASK, lambda x, plus=0: 4 * x + plus).mistakes == []


def test_judge_names_the_mistake_of_one_part_alone():
    verdict = judge(TASK, lambda x, plus=0: 3 * x + 1 if plus else 2 * x)
    assert (verdict.points, verdict.mistakes) == (2, ["tripled"])


def three_parts(**mistakes):
    """A task of three cases, a part each: what `mistakes` give, beside twice x."""
    names = ("one", "two", "three")
    inputs = {"one": X, "two": X + 1, "three": X + 2}
    return dataclasses.replace(
        TASK,
        parts=tuple(PartInfo(name, 1, Text(name, name)) for name in names),
        hints={name: Text(name, name) for name in mistakes},
        cases=tuple(
            Case(
                name,
                {"x": inputs[name]},
                Outcome(2 * inputs[name]),
                {mistake: Outcome(function(inputs[name])) for mistake, function in mistakes.items()},
            )
            for name in names
        ),
    )


def test_judge_names_a_mistake_beside_another_in_fewer_parts():
    """Two of three parts are three times; the third is that and something else."""
    task = three_parts(tripled=lambda x: 3 * x)
    verdict = judge(task, lambda x: 3 * x if x[0, 0] < 3 else 7 * x)
    assert [part.mistake for part in verdict.parts] == ["tripled", "tripled", None]


def test_judge_names_of_two_mistakes_the_one_that_spares_what_is_right():
    task = three_parts(always=lambda x: 3 * x, late=lambda x: 3 * x if x[0, 0] == 3 else 2 * x)
    assert judge(task, lambda x: (3 if x[0, 0] == 3 else 2) * x).mistakes == ["late"]
    only_always = dataclasses.replace(task, hints={"always": Text("", "")})
    assert judge(only_always, lambda x: (3 if x[0, 0] == 3 else 2) * x).mistakes == ["always"]


def test_judge_names_no_mistake_by_an_error_alone_where_it_would_lose_more():
    """Errors and NaN come of many causes: what else would be lost, and is right, speaks against them."""

    def fails(x):
        raise ValueError("operands could not be broadcast")

    for outcome in (Outcome(error="ValueError"), Outcome(np.full_like(X, np.nan))):
        task = three_parts(always=lambda x: x)
        cases = [dataclasses.replace(case, mistakes={"always": outcome}) for case in task.cases]
        task = dataclasses.replace(task, cases=tuple(cases))
        wrong = fails if outcome.error else lambda x: np.full_like(x, np.nan)
        verdict = judge(task, lambda x, wrong=wrong: wrong(x) if x[0, 0] == 1 else 2 * x)
        assert (verdict.points, verdict.mistakes) == (2, [])
        assert judge(task, wrong).mistakes == ["always"]


def test_judge_names_no_mistake_that_another_part_contradicts():
    """Where plus is 1, it is three times by chance; where it is not, it is something else."""
    assert judge(TASK, lambda x, plus=0: 3 * x + 1 if plus else 5 * x).mistakes == []


@pytest.mark.parametrize(
    "wrong",
    [
        lambda x, plus=0: (2 * x + plus).T,
        lambda x, plus=0: (2 * x + plus)[None],
        lambda x, plus=0: (2 * x + plus) * (1 + 1e-4),
        lambda x, plus=0: None,
        lambda x, plus=0: "2 * x",
        lambda x, plus=0: [object()],
        lambda x, plus=0: [[1, 2], [3]],
        lambda x, plus=0: 1 / 0,
        lambda x, plus=0: np.full(x.shape, np.nan),
        lambda x, plus=0: 2j * x,
        lambda x: 2 * x[0],
        None,
        7,
    ],
)
def test_judge_gives_nothing_for_what_is_wrong(wrong):
    assert judge(TASK, wrong).points == 0


def test_call_protects_the_inputs_and_notices_a_change():
    def in_place(x, plus=0):
        x *= 2
        x += plus
        return x

    before = X.copy()
    outcome = call(in_place, TASK.required, {"x": X})
    assert outcome.changed
    assert np.array_equal(X, before)
    verdict = judge(TASK, in_place)
    assert verdict.points == 0
    assert "바뀌었습니다" in report(verdict, "ko")
    assert "were changed" in report(verdict, "en")


def test_call_lets_warnings_and_stderr_pass(capsys):
    def noisy(x, plus=0):
        warnings.warn("deprecated", DeprecationWarning, stacklevel=1)
        print("careful", file=sys.stderr)
        return 2 * x + plus

    assert judge(TASK, noisy).points == 3
    assert capsys.readouterr().err == ""


def test_call_copies_results_that_share_one_buffer():
    buffer = np.empty_like(X)

    def reusing(x, plus=0):
        np.multiply(x, 2, out=buffer)
        buffer[...] += plus
        return buffer

    assert judge(TASK, reusing).points == 3


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (Outcome(X), Outcome(X.astype("float32")), True),
        (Outcome(X), Outcome(X + 1e-3), False),
        (Outcome(X), Outcome(X[0]), False),
        (Outcome(np.array([np.nan, -np.inf])), Outcome(np.array([np.nan, -np.inf])), True),
        (Outcome(np.array([np.inf])), Outcome(np.array([-np.inf])), False),
        (Outcome(np.array([True])), Outcome(np.array([1.0])), False),
        (Outcome(np.array([1])), Outcome(np.array([1.0])), True),
        (Outcome(X), Outcome(X, changed=True), False),
        (Outcome(error="ValueError"), Outcome(error="ValueError", message="other words"), True),
        (Outcome(error="ValueError", message="some"), Outcome(error="ValueError", message="other"), False),
        (Outcome(error="TypeError", message="some"), Outcome(error="TypeError", message="other"), True),
        (
            Outcome(error="ValueError", message="shapes (5,7) (5,)"),
            Outcome(error="ValueError", message="shapes (3,2) (3,)"),
            True,
        ),
        (Outcome(error="ValueError"), Outcome(error="TypeError"), False),
        (Outcome(error="ValueError"), Outcome(X), False),
    ],
)
def test_agree_compares_what_counts(first, second, same):
    assert agree(first, second, rtol=1e-5, atol=1e-6) is same
    assert agree(second, first, rtol=1e-5, atol=1e-6) is same


def whole(n):
    return np.ones((n, n)).sum()


def test_call_forbids_a_function_and_all_of_a_package():
    def sums(x):
        return np.linalg.norm(x)

    def softmax(x):
        return course_lib.softmax(x)

    assert call(sums, ("x",), {"x": X}, forbidden=("numpy.linalg.norm",)).error == "ForbiddenCall"
    outcome = call(softmax, ("x",), {"x": X}, forbidden=("course_lib", "torch.no_such.module"))
    assert (outcome.error, outcome.message) == ("ForbiddenCall", "course_lib")
    assert call(sums, ("x",), {"x": X}, forbidden=("course_lib",)).error is None


def test_call_within_a_memory_refuses_what_holds_more_at_once():
    assert call(whole, ("n",), {"n": 100}, memory=2**20).value == 10_000
    refused = call(whole, ("n",), {"n": 1000}, memory=2**20)
    assert (refused.error, refused.message) == ("TooMuchMemory", "7.6 MiB > 1.0 MiB")


def test_call_within_a_memory_counts_from_where_the_call_begins():
    tracemalloc.start()
    try:
        held = np.ones(2**20)
        assert call(whole, ("n",), {"n": 100}, memory=2**20).value == 10_000
        assert tracemalloc.is_tracing()
    finally:
        tracemalloc.stop()
    assert held.size == 2**20


@pytest.mark.parametrize("hidden", [False, True])
def test_report_says_that_memory_is_an_estimate(hidden):
    large = dataclasses.replace(TASK, memory=2**20)
    said = report(judge(large, lambda x, plus=0: np.ones(2**20)), "en", hidden=hidden)
    # The first call may load a library: it is not measured.
    assert hidden or "The shape should be (2, 3)" in said
    assert "Too much memory is held at once" in said
    assert ("an estimate: 8.0 MiB > 1.0 MiB" in said) is not hidden


@pytest.mark.parametrize(
    ("wrong", "which"),
    [(0, "Result 1: The first"), (1, "Result 2: The first"), (2, "The gradient of x: The first")],
)
def test_report_says_which_of_several_values_differs(wrong, which):
    torch = pytest.importorskip("torch")
    way = Way(torch=True, results=2, gradients=("x",))

    def both(x, plus=0):
        return 2 * x + plus, x**2

    def mistaken(x, plus=0):
        first, second = both(x.detach() if wrong == 2 else x, plus)
        results = [first + (wrong == 0), second + (wrong == 1)]
        return [result + 0 * x for result in results]

    cases = tuple(
        dataclasses.replace(case, right=call(both, ("x",), case.inputs, way=way), mistakes={})
        for case in TASK.cases
    )
    task = dataclasses.replace(TASK, way=way, hints={}, cases=cases)
    assert which in report(judge(task, mistaken), "en")
    assert torch.is_grad_enabled()


def test_report_shows_whole_numbers_to_the_last_digit():
    count = np.array([3 * 2**40, 2**50])
    parts, case = TASK.parts[:1], Case("plain", {"x": X}, Outcome(count), {})
    exact = dataclasses.replace(TASK, parts=parts, hints={}, rtol=0, atol=0, cases=(case,))
    said = report(judge(exact, lambda x: np.add(count, (0, 1))), "en")
    assert "is [1]: expected 1125899906842624, got 1125899906842625." in said


def test_report_shows_shapes_the_first_difference_and_the_place_in_the_book():
    text = report(judge(TASK, lambda x, plus=0: 2 * x + 5 * (x > 20)), "en")
    assert "double: 0 / 3 points" in text
    assert "x (2, 3), plus = 1" in text
    assert "[1, 2]: expected 64, got 69" in text
    assert text.endswith("In the book: chapter.html#double")
    assert "(2, 3)" in report(judge(TASK, lambda x, plus=0: x[0]), "ko")


def test_report_says_how_many_results_should_come_back():
    several = dataclasses.replace(TASK, way=Way(results=2), hints={})
    for result, name in ((X, "ndarray"), (None, "None"), ((X, X, X), "tuple")):
        said = report(judge(several, lambda x, plus=0, result=result: result), "en")
        assert f"2 results should come back, and {name} did." in said


def test_report_shows_the_line_of_a_class_that_raised():
    class Broken:
        def __init__(self, x):
            pass

        def __call__(self):
            return self.no_such_thing

    way = Way(kind="class", build=("x",))
    task = dataclasses.replace(TASK, way=way, cases=TASK.cases[:1], parts=TASK.parts[:1], hints={})
    said = report(judge(task, Broken), "en")
    assert "AttributeError" in said
    assert "          return self.no_such_thing" in said


def test_report_says_what_fails_alike_once_and_no_inputs_without_it():
    text = report(judge(TASK, lambda x, plus=0: np.ravel(x)), "en")
    assert text.count("The same as above.") == 1
    assert text.count("The shape should be") == 1
    assert text.count("Inputs:") == 1


def test_report_shows_a_zero_without_its_sign():
    zero = dataclasses.replace(
        TASK, cases=(Case("plain", {"x": X}, Outcome(-0.0 * X), {"tripled": Outcome(X)}),)
    )
    assert "expected 0, got 1" in report(judge(zero, lambda x: np.ones_like(x)), "en")


def test_report_shows_the_line_that_raised():
    def failing(x, plus=0):
        return x.no_such_thing

    text = report(judge(TASK, failing), "en")
    assert "AttributeError" in text
    assert "return x.no_such_thing" in text


def test_report_of_hidden_cases_shows_no_input_and_no_value():
    def quoting(x, plus=0):
        raise ValueError(f"secret {x[1, 2]}")

    assert "32.0" in report(judge(TASK, quoting), "en")
    for function in (quoting, lambda x, plus=0: 5 * x, lambda x, plus=0: x[0]):
        text = report(judge(TASK, function), "en", hidden=True)
        assert not any(value in text for value in ("32", "64", "160", "(2, 3)", "(3,)"))


def test_report_of_a_stub_asks_for_it_once():
    def stub(x, plus=0):
        raise NotImplementedError

    assert report(judge(TASK, stub), "en").splitlines()[1:] == [
        "  Not written yet. Complete double(x, *, plus=0)."
    ]


@pytest.mark.parametrize("language", ["ko", "en"])
def test_report_has_every_sentence_in_both_languages(language):
    wrong = [lambda x, plus=0: None, lambda x, plus=0: x[0], lambda x, plus=0: x > 3, lambda x: 1 / 0]
    texts = [report(judge(TASK, function), language) for function in (*wrong, lambda x, plus=0: 3 * x + plus)]
    assert len(set(texts)) == len(texts)
    assert all("{" not in text for text in texts)


def test_save_cases_and_load_cases_are_inverse(tmp_path):
    path = tmp_path / "cases.npz"
    save_cases(path, [TASK])
    (task,) = load_cases(path)
    assert [field.name for field in dataclasses.fields(task)]
    assert (task.name, task.required, task.parts, task.hints) == ("double", ("x",), TASK.parts, TASK.hints)
    assert judge(task, double).points == 3
    assert judge(task, lambda x, plus=0: 3 * x + plus).mistakes == ["tripled"]
    with np.load(path, allow_pickle=False) as arrays:
        assert all(arrays[name].dtype != object for name in arrays.files)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (X / 3, np.float32),
        (np.array([1e300, np.nan, np.inf]), np.float64),  # beyond float32
        (np.array([np.nan, -np.inf, 0.1]), np.float32),
        (2 * X + 1e-9, np.float64),  # the right value, whose bytes are there
    ],
)
def test_save_cases_keeps_a_mistake_in_half_of_the_bytes_where_that_says_the_same(tmp_path, given, kept):
    case = dataclasses.replace(TASK.cases[0], mistakes={"tripled": Outcome(given)})
    save_cases(tmp_path / "cases.npz", [dataclasses.replace(TASK, cases=(case,))])
    (task,) = load_cases(tmp_path / "cases.npz")
    found = task.cases[0].mistakes["tripled"]
    assert found.value.dtype == kept
    assert agree(found, Outcome(given), rtol=1e-7, atol=1e-8)


def test_save_cases_gives_the_same_bytes_each_time(tmp_path):
    for name in ("a.npz", "b.npz"):
        save_cases(tmp_path / name, [TASK])
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


@pytest.mark.parametrize("content", [None, b"", b"not a zip file", b"PK\x03\x04 broken"])
def test_load_cases_says_that_the_file_is_missing_or_damaged(tmp_path, content):
    path = tmp_path / "cases.npz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=r"cases\.npz .*Copy it from the exercise's folder again"):
        load_cases(path)


def test_call_says_what_was_returned_before_it_asks_for_gradients():
    pytest.importorskip("torch")
    way = Way(torch=True, gradients=("x",))
    assert call(lambda x: None, ("x",), {"x": X}, way=way).error == "returned None"
    assert call(lambda x: (x, x), ("x",), {"x": X}, way=way).error == "returned tuple"
    several = Way(torch=True, results=2, gradients=("x",))
    assert call(lambda x: (x, None), ("x",), {"x": X}, way=several).error == "returned None"


def test_call_names_the_input_that_no_gradient_reaches():
    torch = pytest.importorskip("torch")
    way, inputs = Way(torch=True, gradients=("x", "y")), {"x": X, "y": X}
    for cut in (
        lambda x, y: x.detach() + y,
        lambda x, y: (x + y).detach(),
        torch.no_grad()(lambda x, y: x * y),
    ):
        outcome = call(cut, ("x", "y"), inputs, way=way)
        assert (outcome.error, outcome.message) == ("NoGradient", "x")
    outcome = call(lambda x, y: 2 * x, ("x", "y"), inputs, way=way)
    assert (outcome.error, outcome.message) == ("NoGradient", "y")
    task = dataclasses.replace(TASK, way=way, hints={})
    for language, hidden in itertools.product(("ko", "en"), (True, False)):
        part = PartVerdict(TASK.parts[0], TASK.cases[0], outcome)
        said = report(Verdict(task, (part,)), language, hidden=hidden)
        assert "y" in said
        assert "gradient" in said
        other = dataclasses.replace(part, outcome=dataclasses.replace(outcome, message="other words"))
        assert "x, y" in report(Verdict(task, (other,)), language, hidden=hidden)


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


def test_load_says_in_one_line_which_module_is_missing(tmp_path, capsys):
    save_cases(tmp_path / "cases.npz", [TASK], modules=["no_such_module"])
    for language, begins in (
        ("ko", "no_such_module이(가) 설치되지"),
        ("en", "no_such_module is not installed."),
    ):
        load(tmp_path / "cases.npz", language)
        out = capsys.readouterr().out
        assert out.startswith(begins)
        assert "pip install -r requirements.txt" in out
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
    assert 'fail first: double(**check.failing["double"])\n' in capsys.readouterr().out
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
    assert '그 입력으로 직접 해 보기: double(**check.failing["double"])' in capsys.readouterr().out
    assert isinstance(check.failing["double"]["x"], torch.Tensor)


def test_checker_returns_the_points_as_a_number_that_nbgrader_reads(capsys):
    points = Checker({"double": TASK}, "en")("double", lambda x, plus=0: 2 * x)
    assert repr(points) == "2.0"


@pytest.mark.parametrize(("wrong", "name"), [(3, "int"), (None, "NoneType"), (X, "ndarray")])
def test_report_says_that_there_is_nothing_to_call(wrong, name):
    assert report(judge(TASK, wrong), "en").splitlines() == [
        "double: 0 / 3 points",
        f"  double should be a function; it is of type {name}. Run the cell that defines it again.",
    ]
    assert "double은(는) 함수여야" in report(judge(TASK, wrong), "ko")
    module = dataclasses.replace(TASK, way=Way(kind="class"))
    assert "should be a class" in report(judge(module, wrong), "en")


def test_report_counts_one_point_in_the_singular():
    said = report(judge(TASK, double), "en")
    assert said.splitlines() == ["double: 3 / 3 points", "  ✓ plain (2 points)", "  ✓ shifted (1 point)"]


def test_report_says_that_the_signature_is_another():
    text = report(judge(TASK, lambda x, plus: 2 * x + plus), "en")
    assert "Define it as double(x, *, plus=0). (" in text
    assert "missing 1 required positional argument: 'plus')" in text
    assert "AssertionError" not in text
    for wrong in (lambda: X, lambda x: 2 * x, lambda x, y, z: x):
        assert "부를 수 없습니다. double(x, *, plus=0)로" in report(judge(TASK, wrong), "ko")
        assert "Define it as" in report(judge(TASK, wrong), "en", hidden=True)


def test_report_of_a_wrong_call_inside_is_the_author_s_own_error():
    def inner(x):
        return x

    text = report(judge(TASK, lambda x, plus=0: inner(x, plus)), "en")
    assert "The function ended in an error: TypeError: " in text


def test_report_shows_a_long_error_on_one_line():
    def failing(x, plus=0):
        raise ValueError("first:\n\tsecond " + "word " * 200)

    lines = report(judge(TASK, failing), "en").splitlines()
    (said,) = [line for line in lines if "ValueError" in line and "raise" not in line]
    assert said.startswith("      The function ended in an error: ValueError: first: second word")
    assert len(said) < 360


def test_report_of_a_single_number_names_no_place():
    case = Case("plain", {"x": X, "plus": 0.123456789}, Outcome(np.array(15)), {})
    one = dataclasses.replace(TASK, parts=TASK.parts[:1], hints={}, cases=(case,))
    said = report(judge(one, lambda x, plus=0: 6), "en")
    assert "      Inputs: x (2, 3), plus = 0.123457" in said.splitlines()
    assert "      expected 15, got 6." in said.splitlines()


def test_report_links_the_book_where_it_is_published():
    published = dataclasses.replace(TASK, site="https://example.org/course/")
    verdict = judge(published, lambda x, plus=0: x)
    assert report(verdict, "ko").endswith(": https://example.org/course/book/ko/chapter.html#double")
    assert report(verdict, "en").endswith(": https://example.org/course/en/chapter.html#double")


def test_report_of_an_error_without_words_ends_in_its_name():
    def failing(x, plus=0):
        if x is not None:
            raise AssertionError

    lines = report(judge(TASK, failing), "en").splitlines()
    assert "      The function ended in an error: AssertionError" in lines
    assert "          raise AssertionError" in lines


def test_report_finds_the_entry_that_differs_by_the_task_s_tolerance():
    close = dataclasses.replace(TASK, rtol=1e-9, atol=0.0, hints={})
    said = report(judge(close, lambda x, plus=0: (2 * x + plus) * (1 + 1e-7 * (x == 16))), "en")
    assert "is [1, 1]: expected 32, got 32.0000032." in said


def test_load_refuses_an_unknown_language(tmp_path):
    save_cases(tmp_path / "cases.npz", [TASK])
    with pytest.raises(ValueError, match="language must be one of ko, en: it is 'fr'"):
        load(tmp_path / "cases.npz", "fr")
