"""Functions that run coroutines of their own, and a cell that awaits one.

Marks: double 3, mean 2.5, why waits
"""

from submission_case import Case

DOUBLE = """
import asyncio


async def twice(x):
    await asyncio.sleep(0)
    return 2 * x


await twice(1)


def double(x):
    return asyncio.run(twice(x))
"""
MEAN = """
async def later(x, axis):
    return x.mean(axis=axis)


def mean(x, axis=-1):
    return asyncio.new_event_loop().run_until_complete(later(x, axis))
"""


def build(case: Case) -> None:
    case.write(case.answered(double=DOUBLE, mean=MEAN))
