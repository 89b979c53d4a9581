"""One Spark session for all tests of a run, and logs that it reads.

Without the extra nothing here is collected: ``make test-servers`` installs it, ``make test`` does without Java.
"""

import asyncio
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from callboard.backends.log import Retention
from callboard.backends.registry import open_log
from callboard.cli.run_command import run
from callboard.messages.event import Event
from callboard.messages.headers import new_record
from callboard.messages.record import NewRecord
from callboard.testing.servers.postgres import own_schema, postgres_server

HERE = Path(__file__).parent

collect_ignore_glob = [] if find_spec("pyspark") else ["test_*.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker("spark")


UNVERIFIED = "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
"""A quarter of what Java does until its first answer is to verify the classes of Spark, which are as released."""

SMALL = {
    "spark.master": "local[2,4]",
    # Dozens of different questions to a few records each: to generate, compile and optimize code for each takes longer
    # than to do without. The command line's own sessions, of which the demo and the driver that dies have one, do it.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}


@pytest.fixture(autouse=True, scope="session")
def _java_starts_quickly() -> Iterator[None]:
    """For all that tests start: Spark adds the variable to the options of a driver."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_SUBMIT_OPTS", UNVERIFIED)
        yield


@pytest.fixture(scope="session")
def spark(_the_run_leaves_nothing_behind: None, _java_starts_quickly: None) -> Iterator[Any]:
    """A session that tries a task again; its Java process ends with it."""
    from pyspark import SparkContext

    from callboard.pipeline.session import open_session

    session = open_session("tests", SMALL)
    yield session
    session.stop()
    gateway = SparkContext._gateway
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()
    SparkContext._gateway = SparkContext._jvm = None


class SomeLog:
    """A log under a URL that a variable names."""

    def __init__(self, url: str) -> None:
        self.url = url

    def append(self, topic: str, *events: Event) -> list[int]:
        """Append to the topic of this sort, and make sure that it exists."""
        records = [
            new_record(event, record_id=f"{number}", time_ns=number + 1, producer="t/1")
            for number, event in enumerate(events)
        ]
        return self.append_records(topic, *records)

    def append_records(self, topic: str, *records: NewRecord) -> list[int]:
        async def work() -> list[int]:
            log = open_log(self.url, Path.cwd())
            await log.ensure(f"callboard.{topic}")
            offsets = await log.append(f"callboard.{topic}", records) if records else []
            await log.close()
            return offsets

        return asyncio.run(work())

    def trim(self, topic: str, below: int) -> None:
        async def work() -> None:
            log = open_log(self.url, Path.cwd())
            await log.trim(f"callboard.{topic}", Retention(below_offset=below))
            await log.close()

        asyncio.run(work())


@pytest.fixture
def sqlite_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SomeLog:
    """A log in a folder."""
    url = f"sqlite:///{tmp_path}/board.db"
    monkeypatch.setenv("CALLBOARD_LOG", url)
    return SomeLog(url)


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    with postgres_server() as server:
        yield server


@pytest.fixture
def postgres_log(server: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[SomeLog]:
    """A log in a schema of its own."""
    with own_schema(server.tcp_url) as url:
        monkeypatch.setenv("CALLBOARD_LOG", url)
        yield SomeLog(url)


@pytest.fixture
def reader() -> Callable[..., Any]:
    """Makes the source's reader of a table, which can be used here in place of a worker."""

    def make(**options: str) -> Any:
        from pyspark.sql.datasource import CaseInsensitiveDict

        from callboard.pipeline.source.source import CallboardSource

        source = CallboardSource(CaseInsensitiveDict(options))
        return source.reader(source.schema())

    return make


@pytest.fixture
def typed(
    spark: Any, sqlite_log: SomeLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Types a command of ``callboard pipeline`` in a folder with a log; gives its exit code and what it said."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "callboard.toml").write_text(f'log = "{sqlite_log.url}"\n')
    sqlite_log.append("package")
    sqlite_log.append("status")

    def type_in(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["callboard", "pipeline", *words])
        capsys.readouterr()
        code = run()
        output = capsys.readouterr()
        return code, output.out, output.err

    return type_in


@pytest.fixture
def awaited() -> Callable[[Callable[[], Any]], None]:
    """Starts a query and awaits its end; repeats it if the process that plans it did not start within Spark's 10 s.

    The limit cannot be set, and is too short on a busy machine.
    """
    from pyspark.errors import StreamingQueryException

    def work(start: Callable[[], Any]) -> None:
        while True:
            try:
                start().awaitTermination()
            except StreamingQueryException as error:
                if "connect back" not in str(error):
                    raise
            else:
                return

    return work


DIED = 9
DIES_WITHIN_S = 300.0


@pytest.fixture
def dies_before() -> Callable[[int, Callable[[Callable[[str], None]], object]], bool]:
    """Does something in a copy of this process that is killed before a step; whether there were that many.

    The copy uses the Java process of the session, which keeps running when a driver dies, unlike outside of tests: the
    next driver may meet tasks of the one before.
    """

    def attempt(step: int, work: Callable[[Callable[[str], None]], object]) -> bool:
        left = iter(range(step - 1))

        def on_step(_: str) -> None:
            if next(left, None) is None:
                os._exit(DIED)

        copy = os.fork()
        if copy == 0:
            try:
                work(on_step)
                os._exit(0)
            finally:
                traceback.print_exc()
                os._exit(1)
        deadline = time.monotonic() + DIES_WITHIN_S
        while True:
            pid, status = os.waitpid(copy, os.WNOHANG)
            if pid:
                code = os.waitstatus_to_exitcode(status)
                assert code in (0, DIED), f"the copy ended with {code}"
                return code == DIED
            if time.monotonic() > deadline:
                os.kill(copy, signal.SIGKILL)
                os.waitpid(copy, 0)
                pytest.fail("the copy came to no end")
            time.sleep(0.01)

    return attempt
