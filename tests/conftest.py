"""Nothing outlives its test: no thread, no child process, and no file in the temporary folder.

With ``--behaviours`` the run writes the page that says which behaviours its tests prove.
"""

import multiprocessing
import os
import re
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import structlog

from callboard.logger import Logger
from tests import behaviours
from tests.budget import Budget
from tests.warm_start import WarmStart

GRACE_S = 30.0
"""How long after a test its threads and processes may take to end: some are asked to end, but not waited for."""

POLL_S = 0.01

_MEMORY = Path("/dev/shm")
_ROOM_BYTES = 4 << 30
"""Ten times what the tests keep at once. In memory, files behave the same, and a sync takes no time."""

_TIMEOUT_THREAD = "pytest_timeout"
_RESOURCE_TRACKER = "multiprocessing.resource_tracker"
"""The one process that Python keeps for itself once it has spawned another; it ends with its parent."""

_MULTIPROCESSING_FOLDER = "pymp-"
"""Python's own too: removed when this process ends."""

_PROBE = re.compile(r"[a-z0-9_]{8}")
_PROBE_CONTENT = b"blat"
"""What ``tempfile`` writes and removes to see whether a folder will do; a process killed in between leaves it."""


@pytest.fixture(autouse=True, scope="session")
def _the_run_leaves_nothing_behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Give the run a temporary folder of its own, and look at the end at what is left.

    A short name, because the path of a unix socket has room for 108 bytes. What tests keep in ``tmp_path``
    stays outside, where pytest holds on to it for a look at failures.
    """
    tmp_path_factory.getbasetemp()
    before, cache = _alive(), tmp_path_factory.mktemp("cache")
    jars = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "callboard"  # fetched once for all runs
    with tempfile.TemporaryDirectory(prefix="cb-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", folder)
        patch.setenv("TEST_SERVERS_JARS", os.environ.get("TEST_SERVERS_JARS") or str(jars))
        patch.setenv("XDG_CACHE_HOME", str(cache))
        patch.setattr(tempfile, "tempdir", folder)
        yield
        left = _left_over(before)
        left += sorted(f"file {path}" for path in Path(folder).iterdir() if not _is_pythons_own(path))
    if left:
        pytest.fail("the run left behind: " + ", ".join(left), pytrace=False)


def _is_pythons_own(path: Path) -> bool:
    if _PROBE.fullmatch(path.name) and path.is_file():
        return _PROBE_CONTENT.startswith(path.read_bytes())
    return path.name.startswith(_MULTIPROCESSING_FOLDER)


@pytest.fixture(autouse=True)
def _the_test_leaves_nothing_running() -> Iterator[None]:
    before = _alive()
    yield
    Logger.configure = None
    structlog.reset_defaults()  # a command that ran in this process has set it up, and what others log went elsewhere
    left = _left_over(before)
    if left:
        pytest.fail("the test left running: " + ", ".join(left), pytrace=False)


@pytest.fixture(scope="session")
def warm_start() -> Iterator[WarmStart]:
    """What starts commands in a tenth of the time; see there for what it leaves out."""
    it = WarmStart()
    yield it
    it.end()


def _left_over(before: dict[object, str]) -> list[str]:
    """What runs now and did not before, once the grace period is over or nothing is left."""
    deadline = time.monotonic() + GRACE_S
    while True:
        multiprocessing.active_children()  # reaps those of its own that ended, as its next start would
        left = sorted(name for key, name in _alive().items() if key not in before)
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(POLL_S)


def _alive() -> dict[object, str]:
    """The threads and child processes there are, with a name for people."""
    threads: dict[object, str] = {
        thread: f"thread {thread.name!r}"
        for thread in threading.enumerate()
        if not thread.name.startswith(_TIMEOUT_THREAD)
    }
    return threads | _children()


def _children() -> dict[object, str]:
    """The child processes by id and start time, those that ended but were not waited for included."""
    children: dict[object, str] = {}
    for process_id in _child_ids():
        try:
            name, _, rest = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")
            words = Path(f"/proc/{process_id}/cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            continue  # ended while we were looking
        state, *numbers = rest.split()
        command = b" ".join(words).decode(errors="replace").strip()
        if _RESOURCE_TRACKER not in command:
            title = command or f"{name.partition('(')[2]}, ended but not waited for (state {state})"
            children[process_id, numbers[18]] = f"process {process_id} ({title})"
    return children


def _child_ids() -> list[str]:
    ids: list[str] = []
    for children in Path("/proc/self/task").glob("*/children"):
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread ended while we were looking
            ids += children.read_text().split()
    return ids


LONGEST = ("tests/pipeline/spark/", "tests/simulation/", "tests/e2e/", "tests/chaos/", "tests/release/")
"""Folders whose files take longest."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files come first, or one process ends with them while the others have nothing to do."""
    items.sort(key=lambda item: [not item.nodeid.startswith(folder) for folder in LONGEST])


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--behaviours", action="store_true", help="write docs/behaviours.md from what became of tests")


def pytest_configure(config: pytest.Config) -> None:
    # What a script starts in the background ignores it, as do its children then.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if "TMPDIR" not in os.environ and os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ROOM_BYTES:
        os.environ["TMPDIR"] = str(_MEMORY)
        tempfile.tempdir = None  # so that it is looked up again
    if "CALLBOARD_LONG" not in os.environ:
        config.pluginmanager.register(Budget())
    if config.getoption("--behaviours") and not hasattr(config, "workerinput"):  # of several processes, the first
        config.pluginmanager.register(_Witness(config))


class _Witness:
    """Notes the outcome of each test, over all its parameters. Of those that do not run now it knows the last time,
    so that the page can be written in several runs.
    """

    CACHE = "behaviours/outcomes"

    def __init__(self, config: pytest.Config) -> None:
        self._cache = config.cache
        self._outcomes: dict[str, list[str]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or report.outcome != "passed":
            ended = self._outcomes.setdefault(report.nodeid.partition("[")[0], [])
            ended += [report.outcome] * (report.outcome not in ended)

    def pytest_sessionfinish(self) -> None:
        outcomes = self._outcomes
        if self._cache is not None:
            outcomes = self._cache.get(self.CACHE, {}) | outcomes
            self._cache.set(self.CACHE, outcomes)
        behaviours.PAGE.write_text(behaviours.page(behaviours.judged(outcomes)), encoding="utf-8")
