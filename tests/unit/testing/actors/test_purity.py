"""Code that must be pure is watched."""

import gc
import time
from collections.abc import Iterator
from typing import Any

import pytest

from callboard.testing.actors.purity import watched


@pytest.fixture
def timed_collector() -> Iterator[None]:
    """A garbage collector that takes the time, as some tools make it do, and runs at once."""

    def take_the_time(*_: Any) -> None:
        time.perf_counter()

    former = gc.get_threshold()
    gc.callbacks.append(take_the_time)
    gc.set_threshold(1)
    yield
    gc.set_threshold(*former)
    gc.callbacks.remove(take_the_time)


@pytest.mark.usefixtures("timed_collector")
def test_the_time_that_others_take_is_not_noticed() -> None:
    with watched() as found:
        kept = [[each] for each in range(1000)]
    assert (found, len(kept)) == ([], 1000)
    assert gc.isenabled()


def test_the_time_that_the_code_takes_is_noticed() -> None:
    with watched() as found:
        time.time()
    assert found == ["time.time"]
