"""What a check says, in both languages."""

import dataclasses

import numpy as np
import pytest
from double_task import TASK, X, double

from course_lib.checks import Case, Outcome, Way, call, judge, report
from course_lib.checks.wording import COLUMNS, _columns, folded


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
    # A shape that came can be made of the inputs; the one that should come can't.
    told = np.zeros((32, 64, 160))
    for function in (quoting, lambda x, plus=0: 5 * x, lambda x, plus=0: x[0], lambda x, plus=0: told):
        text = report(judge(TASK, function), "en", hidden=True)
        assert not any(value in text for value in ("32", "64", "160", "(3,)"))


def test_report_of_hidden_cases_says_what_shape_or_dtype_should_come():
    for function, said in (
        (lambda x, plus=0: x[0], "The shape should be (2, 3); another one came."),
        (lambda x, plus=0: x > 3, "The dtype should be float64; another one came."),
    ):
        text = report(judge(TASK, function), "en", hidden=True)
        assert text.count(said) == 1
        assert text.count("The same as above.") == 1
    several = dataclasses.replace(
        TASK, hints={}, way=Way(results=2), cases=(Case("plain", {"x": X}, Outcome(X, more=(X,)), {}),)
    )
    text = report(judge(several, lambda x: (x, x[0])), "en", hidden=True)
    assert "Result 2: The shape should be (2, 3); another one came." in text


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


def test_folded_breaks_at_spaces_and_stands_deeper():
    text = "task: 0 / 1\n  → one two three four\n  short"
    assert folded(text, 15).splitlines() == ["task: 0 / 1", "  → one two", "    three four", "  short"]


def test_folded_counts_hangul_twice_and_leaves_long_words_whole():
    assert folded("가나다 라마바 사", 13) == "가나다 라마바\n  사"
    assert (
        folded("  see: https://example.org/a-long-address", 20).split("\n")[1]
        == "    https://example.org/a-long-address"
    )


def test_folded_leaves_lines_that_fit_as_they_are():
    assert folded("      q  =  1", 100) == "      q  =  1"


def test_folded_keeps_a_name_with_its_shape_and_a_place_whole():
    text = "Inputs: w_up (7, 17), window = 13, x (3, 5)\nThe entry [0, -1, 2]: expected -1, got 2.5."
    for columns in range(24, 60):
        lines = folded(text, columns).splitlines()
        assert max(map(len, lines)) <= columns
        for whole in ("w_up (7, 17),", "window = 13,", "x (3, 5)", "[0, -1, 2]:", "expected -1,", "got 2.5."):
            assert any(whole in line for line in lines), columns


def test_report_shows_a_long_line_of_code_in_one_line():
    def long(x, plus=0):
        return x.no_such_method(1111111111) + "가나다라마바사 아자차카타파하", "and more that nobody reads"

    (shown,) = [line for line in folded(report(judge(TASK, long), "en")).splitlines() if "return" in line]
    assert shown.endswith(" …")
    assert _columns(shown) <= COLUMNS


@pytest.mark.parametrize("given", [lambda **build: None, lambda **build: X, lambda x, plus=0: (x, plus), {}])
def test_report_says_that_a_class_should_have_come(given):
    task = dataclasses.replace(TASK, way=Way(kind="class", build=("x",)), hints={})
    said = report(judge(task, given), "en")
    assert said.endswith(
        f"double should be a class; it is of type {type(given).__name__}. Run the cell that defines it again."
    )


def stub(x):
    raise NotImplementedError


@pytest.mark.parametrize(
    ("language", "said"), [("en", "double calls stub, which is"), ("ko", "double이(가) 부르는 stub을(를)")]
)
def test_report_names_the_stub_that_a_function_calls(language, said):
    assert said in report(judge(TASK, lambda x, plus=0: stub(x)), language)

    def double(x, plus=0):
        raise NotImplementedError

    def in_words(x, plus=0):
        raise NotImplementedError("later")

    for unwritten in (double, in_words):
        assert TASK.signature in report(judge(TASK, unwritten), language)
    some = report(judge(TASK, lambda x, plus=0: 2 * x if plus == 0 else stub(x)), language)
    assert "NotImplementedError: stub" in some
