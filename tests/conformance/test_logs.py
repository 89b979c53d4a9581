"""Every log of callboard passes the suite that decides what a log is."""

import asyncio
import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

from callboard.backends.log import Log
from callboard.backends.logs.memory import MemoryLog
from callboard.backends.logs.postgres import PostgresLog
from callboard.backends.logs.sqlite import SqliteLog
from callboard.backends.postgres.server import Server
from callboard.backends.tail import SharedTail
from callboard.testing.conformance.log import ALL_CHECKS, Check, LogHarness

NOON_NS = 1_800_000_000 * 10**9

LOGS: dict[str, Callable[[Path, Callable[[], int]], Log]] = {
    "memory": lambda _, clock: MemoryLog(clock),
    "sqlite": lambda folder, clock: SqliteLog(folder / "board.db", clock),
    "tail-of-memory": lambda _, clock: SharedTail(MemoryLog(clock)),
    "tail-of-sqlite": lambda folder, clock: SharedTail(SqliteLog(folder / "board.db", clock)),
    "tiny-tail-of-memory": lambda _, clock: SharedTail(MemoryLog(clock), max_bytes=100),
}


async def skip_offsets_in_memory(log: Log, topic: str, count: int) -> None:
    below = log._log if isinstance(log, SharedTail) else log
    assert isinstance(below, MemoryLog)
    below._topics[topic].end += count


@pytest.mark.parametrize("check", ALL_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", LOGS)
def test_a_log_does_what_a_log_does(name: str, check: Check, tmp_path: Path) -> None:
    now = [NOON_NS]

    async def make() -> Log:
        return LOGS[name](tmp_path, lambda: now[0])

    def pass_time(seconds: float) -> None:
        now[0] += int(seconds * 10**9)

    gap = skip_offsets_in_memory if "memory" in name else None
    asyncio.run(check(LogHarness(open=make, gap=gap, pass_time=pass_time)))


async def skip_offsets_in_postgres(url: str, topic: str, count: int) -> None:
    db = await Server.of(url).connect()
    (topic_id,) = await db.fetchrow("SELECT id FROM topics WHERE name = $1", topic)
    await db.execute(f"SELECT nextval('offsets_{topic_id}') FROM generate_series(1, {count})")
    await db.close()


@pytest.mark.parametrize("check", ALL_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("tailed", [False, True], ids=["log", "tail"])
def test_a_postgres_log_does_what_a_log_does(tailed: bool, check: Check, each_postgres_url: str) -> None:
    now = [NOON_NS]

    async def make() -> Log:
        log = PostgresLog(each_postgres_url, lambda: now[0])
        return SharedTail(log) if tailed else log

    async def gap(_: Log, topic: str, count: int) -> None:
        await skip_offsets_in_postgres(each_postgres_url, topic, count)

    def pass_time(seconds: float) -> None:
        now[0] += int(seconds * 10**9)

    asyncio.run(check(LogHarness(open=make, gap=gap, pass_time=pass_time)))


def test_every_check_says_what_it_demands() -> None:
    assert len(ALL_CHECKS) > 50
    assert len({check.__name__ for check in ALL_CHECKS}) == len(ALL_CHECKS)
    assert all(inspect.getdoc(check) for check in ALL_CHECKS)
