"""A notebook that an editor saved as "Unicode", which is UTF-16.

Says: mini.ipynb is not UTF-8 text (byte 0); open it in Jupyter, save it
"""

from submission_case import Case


def build(case: Case) -> None:
    case.write_bytes(case.bytes_of(case.answered()).decode().encode("utf-16"))
