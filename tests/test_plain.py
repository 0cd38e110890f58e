"""Text from the student's room, as a person reads it."""

from __future__ import annotations

from course_lib.grading.plain import error_name, plain_line, plain_text, type_name


def test_plain_text_keeps_words_and_drops_the_rest() -> None:
    odd = "a\x1b[31mb\x1b]0;title\x07c\x9b5nd\r\n\t\u202ee\ud800 가\u200d나 é\x00\x7f"
    assert plain_text(odd, 100) == "abcd\n\te 가\u200d나 é"
    assert plain_text("abcd", 3) == "abc"
    assert plain_text(7, 3) == plain_text(["x"], 3) == ""
    assert plain_line("a\n b\t\x1b[2Jc", 100) == "a b c"


def test_names_of_errors_and_types_say_nothing_else() -> None:
    assert (error_name("ValueError"), error_name("LinAlgError")) == ("ValueError", "LinAlgError")
    assert {error_name(name) for name in ("1.5 2.5", "\x1b", None, 7, "print")} == {"Exception"}
    assert (type_name("list"), type_name("1.5")) == ("list", "object")
