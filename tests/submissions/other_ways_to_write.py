"""What people write who write Python every day: named types, classes that can be called, threads, decorators.

Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case

DOUBLE = """
from __future__ import annotations
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, wraps


@lru_cache
def two() -> int:
    return 2


@dataclass
class Doubler:
    n: int

    def __call__(self, x: np.ndarray) -> "np.ndarray":
        with ThreadPoolExecutor(2) as pool:
            return np.array([*pool.map(lambda value: self.n * value, x)])


double = Doubler(two())
"""
MEAN = """
def shown(f):
    @wraps(f)
    def inner(*args, **options):
        print(f.__name__)
        return f(*args, **options)

    return inner


@shown
def mean(values, axis=-1):
    return values.mean(axis=axis)


if __name__ == "__main__":
    print(mean(np.ones(3)))
"""


def build(case: Case) -> None:
    notebook = case.answered(double=DOUBLE, mean=MEAN)
    for source in ("%matplotlib inline", "np.mean?", "help(double)", "exit()", "%reset -f", "del double"):
        notebook.cells.append(case.code(source))
    case.write(notebook)
