"""A notebook that an editor saved as Latin-1.

Says: mini.ipynb is not UTF-8 text (byte
"""

from submission_case import Case


def build(case: Case) -> None:
    text = case.bytes_of(case.answered(why="Z\u00fcrich.")).decode()
    case.write_bytes(text.encode("latin-1"))
