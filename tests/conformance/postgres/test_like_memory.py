"""Whatever is done to it, a log over PostgreSQL says what the log in memory says."""

import asyncio
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from callboard.backends.log import Log, Retention
from callboard.backends.logs.memory import MemoryLog
from callboard.backends.logs.postgres import PostgresLog
from callboard.backends.postgres.server import Server
from callboard.errors import CallboardError
from callboard.messages.record import NewRecord

TOPIC = "package"
KEYS = st.sampled_from(["", "", "a", "b", "c"])
RECORDS = st.lists(
    st.builds(lambda size, key: NewRecord(payload=bytes(size), key=key), st.integers(0, 40), KEYS), max_size=6
)
OFFSETS = st.integers(0, 40)


class LikeMemory(RuleBasedStateMachine):
    """One history on both; partitions are small, so that it crosses and drops some of them."""

    url = ""

    def __init__(self) -> None:
        super().__init__()
        self.now_ns = 10**18
        self.runner = asyncio.Runner()
        self.memory, self.postgres = MemoryLog(self.clock), PostgresLog(self.url, self.clock)
        self.runner.run(self.begin())

    def clock(self) -> int:
        return self.now_ns

    async def begin(self) -> None:
        await self.memory.ensure(TOPIC)
        await self.postgres.ensure(TOPIC)
        db = await Server.of(self.url).connect()
        await db.execute("SELECT drop_topic('package'); SELECT ensure_topic('package')")
        await db.execute("UPDATE topics SET partition_size = 5")
        await db.close()

    def teardown(self) -> None:
        self.runner.run(self.postgres.close())
        self.runner.close()

    def both(self, method: str, *arguments: Any) -> None:
        memory, postgres = (self.runner.run(self.outcome(log, method, *arguments)) for log in self.logs())
        assert postgres == memory

    def logs(self) -> tuple[Log, Log]:
        return self.memory, self.postgres

    async def outcome(self, log: Log, method: str, *arguments: Any) -> Any:
        try:
            return await getattr(log, method)(TOPIC, *arguments)
        except CallboardError as error:
            return repr(error)

    @rule(records=RECORDS)
    def append(self, records: list[NewRecord]) -> None:
        self.both("append", records)

    @rule(start=OFFSETS, max_records=st.integers(1, 9), max_bytes=st.integers(1, 100))
    def read(self, start: int, max_records: int, max_bytes: int) -> None:
        self.both("read", start, max_records, max_bytes)

    @rule(start=OFFSETS)
    def wait(self, start: int) -> None:
        self.both("wait", start, 0)

    @rule()
    def bounds(self) -> None:
        self.both("bounds")

    @rule(seconds=st.integers(1, 10))
    def pass_time(self, seconds: int) -> None:
        self.now_ns += seconds * 10**9

    @precondition(lambda self: self.now_ns > 10**18)
    @rule(below=st.none() | OFFSETS, age_s=st.none() | st.integers(0, 10), size=st.none() | st.integers(0, 200))
    def trim(self, below: int | None, age_s: int | None, size: int | None) -> None:
        self.both("trim", Retention(below_offset=below, older_than_s=age_s, above_bytes=size))


def test_random_histories_end_alike(postgres_url: str) -> None:
    LikeMemory.url = postgres_url
    run_state_machine_as_test(
        LikeMemory,
        settings=settings(
            max_examples=25, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
