"""What `make bank` counts."""

from dataclasses import replace

from benchmarks import bank
from course_lib.grading.bank import load_bank

SMALL = load_bank(bank.ROOT / "tests" / "mini_course" / "solutions" / "mini")


def measured(**changed):
    task = replace(SMALL.tasks[0], **changed)
    return bank.measure(replace(SMALL, tasks=(task,)), draws=1)


def test_measure_counts_nothing_where_all_is_well():
    assert bank.summary(measured()) == ("false accepts 0, false rejects 0, diagnosed 100.0 %", True)


def test_measure_counts_a_mistake_that_keeps_what_it_should_lose():
    mistake = replace(SMALL.tasks[0].mistakes[0], function=SMALL.tasks[0].reference)
    (found,) = measured(mistakes=(mistake,))
    assert (found.accepted, found.undiagnosed) == ([mistake.name], [mistake.name])
    assert bank.summary([found]) == ("false accepts 1, false rejects 0, diagnosed 0.0 %", False)


def test_measure_counts_a_right_answer_that_is_refused():
    (found,) = measured(right_answers=(SMALL.tasks[0].mistakes[0].function,))
    assert found.rejected == [SMALL.tasks[0].mistakes[0].name]
    assert not bank.summary([found])[1]


def test_measure_counts_two_mistakes_that_no_case_tells_apart():
    first = SMALL.tasks[0].mistakes[0]

    def twin(*given, **named):
        return first.function(*given, **named)

    (found,) = measured(mistakes=(replace(first, function=twin), first))
    assert found.undiagnosed == [first.name]
