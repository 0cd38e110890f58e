"""Functions that need the threads which a cell has started: a copy of the process would be without them.

Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case

DOUBLE = """
import queue, threading

asked, answered = queue.Queue(), queue.Queue()


def work():
    while True:
        answered.put(2 * asked.get())


threading.Thread(target=work, daemon=True).start()


def double(x):
    asked.put(x)
    return answered.get(timeout=1)
"""


def build(case: Case) -> None:
    case.write(case.answered(double=DOUBLE))
