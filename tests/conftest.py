"""What tests share: the array libraries that they run on, the small course, and the browser."""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import array_api_compat
import numpy as np
import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from course_lib.course import Course
    from course_lib.grading.bank import Bank
    from course_lib.grading.rooms import Room

# On a busy machine an example takes what it takes, and so does drawing it.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

MODULES = {
    "numpy": "array_api_compat.numpy",
    "torch": "array_api_compat.torch",
    # Refuses whatever the array API standard does not promise.
    "strict": "array_api_strict",
}


@dataclass(frozen=True)
class Backend:
    name: str

    @property
    def xp(self) -> Any:
        return importlib.import_module(MODULES[self.name])

    def array(self, values: Any, dtype: str | None = None) -> Any:
        """The values as this library's array; `dtype` by the name that all libraries share."""
        values = np.array(values)
        return self.xp.asarray(values if dtype is None else values.astype(dtype), copy=True)

    def arrays(self, *values: Any) -> tuple[Any, ...]:
        return tuple(self.array(value) for value in values)


def numpy(array: Any) -> np.ndarray:
    """The array's values for NumPy, whichever library it is of (bfloat16 becomes float32, exactly)."""
    if array_api_compat.is_torch_array(array):
        array = array.detach().cpu()
        return (array.float() if str(array.dtype) == "torch.bfloat16" else array).numpy()
    return np.asarray(array)


def drawn(*shape: int, seed: int = 0) -> np.ndarray:
    """Normal numbers, others for each shape."""
    return np.random.default_rng([seed, *shape]).normal(size=shape)


def learned(*arrays: np.ndarray) -> list[Any]:
    """The same as tensors that gradients are asked of."""
    return [importlib.import_module("torch").tensor(array, requires_grad=True) for array in arrays]


def close(actual: Any, expected: Any, rtol: float = 1e-12) -> None:
    np.testing.assert_allclose(numpy(actual), numpy(expected), rtol=rtol, atol=rtol)


def message(call: Callable[[], Any]) -> str:
    """What the ValueError says that the call ends in."""
    with pytest.raises(ValueError) as caught:
        call()
    return str(caught.value)


@pytest.fixture(autouse=True, scope="session")
def one_torch_thread() -> None:
    """The tests' arrays are tiny: threads would wait for each other, several times as long as one works."""
    with contextlib.suppress(ImportError):
        importlib.import_module("torch").set_num_threads(1)


@pytest.fixture(autouse=True, scope="session")
def one_process_for_alembic() -> None:
    """For each new gradebook, nbgrader starts a process that says the version of its tables: two seconds each."""
    with contextlib.suppress(ImportError):
        api = importlib.import_module("nbgrader.api")
        api.get_alembic_version = functools.cache(api.get_alembic_version)


@pytest.fixture(scope="session", params=["numpy", "torch"])
def backend(request: pytest.FixtureRequest) -> Backend:
    return Backend(request.param)


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Course:
    """The small course of `mini.py`, released: one for all tests of a file, unless the file makes its own."""
    made: Course = importlib.import_module("mini").released_course(tmp_path_factory.mktemp("course"))
    return made


@pytest.fixture(scope="module")
def released(course: Course) -> Any:
    """Its notebook, as students get it."""
    return importlib.import_module("course_lib.grading.notebook").read_notebook(course.released("mini"))


@pytest.fixture
def bank(course: Course) -> Bank:
    loaded: Bank = importlib.import_module("course_lib.grading.bank").load_bank(course.solutions / "mini")
    return loaded


@pytest.fixture
def notebook_text(course: Course) -> Path:
    """The text that the small course's notebook is made from."""
    return course.solutions / "mini" / "mini.md"


@pytest.fixture(scope="module")
def room() -> Iterator[Room]:
    """One for students' code, in which 500 MiB a seat are too much."""
    place = importlib.import_module("course_lib.grading.student_room.place")
    rooms = importlib.import_module("course_lib.grading.rooms")
    with rooms.Room(limits=place.Limits(resident=500 * 2**20)) as made:
        yield made


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """The system's Chromium. One a module: while it is open, its loop of events is the thread's."""
    with importlib.import_module("pages").open_browser() as browser:
        yield browser


every_backend = pytest.mark.parametrize("backend", ["numpy", "torch", "strict"], indirect=True)
