"""The fixtures that pytest finds by itself once callboard is installed; see docs/testing.md.

It imports nothing of callboard before a test asks for a fixture.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from callboard.board.jobs.job import Job
    from callboard.sync import Callboard
    from callboard.testing import boards
    from callboard.testing.boards.sync import Clock, Fleet, MemoryBoard


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Leave callboard as it is: pytest would rewrite the assertions of all that comes with a plugin, which takes time,
    and changes what they say. There is no public way to tell it.
    """
    rewriting = getattr(early_config.pluginmanager, "rewrite_hook", None)
    getattr(rewriting, "_must_rewrite", set()).discard("callboard")


@pytest.fixture
def callboard_async(tmp_path: Path) -> "boards.MemoryBoard":
    """A board in memory for an asynchronous test, not open yet: async with callboard_async as test: ..."""
    from callboard.testing.boards import MemoryBoard

    return MemoryBoard(tmp_path)


@pytest.fixture
def callboard_memory(tmp_path: Path) -> "Iterator[MemoryBoard]":
    """A board in memory, open, and what the other fixtures are parts of."""
    from callboard.testing.boards.sync import MemoryBoard

    with MemoryBoard(tmp_path) as its:
        yield its


@pytest.fixture
def callboard_board(callboard_memory: "MemoryBoard") -> "Callboard":
    """An open callboard.sync.Callboard on a log in memory; relative paths start from tmp_path."""
    return callboard_memory.board


@pytest.fixture
def callboard_clock(callboard_memory: "MemoryBoard") -> "Clock":
    """The time on callboard_board: callboard_clock.advance(60) lets a minute pass."""
    return callboard_memory.clock


@pytest.fixture
def callboard_fleet(callboard_memory: "MemoryBoard") -> "Callable[..., Fleet]":
    """Starts subscribers of callboard_board, by their names or how many; deliver_all of the result waits for them."""
    return callboard_memory.fleet


@pytest.fixture
def callboard_run_jobs(callboard_memory: "MemoryBoard") -> "Callable[..., tuple[Job, ...]]":
    """Runs the jobs of callboard_board that are due, by the functions of a JobRegistry."""
    return callboard_memory.run_jobs
