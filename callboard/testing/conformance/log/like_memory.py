"""Random histories: a log must answer every operation as the log in memory does. Needs hypothesis.

    def test_my_log_is_like_memory() -> None:
        compare_histories(my_harness)

``my_harness`` is a context manager that yields a ``LogHarness`` over an empty log whose clock can be set.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, ExitStack
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from callboard.backends.log import Bounds, Capability, Log, Retention
from callboard.errors import CallboardError, OffsetOutOfRange
from callboard.messages.record import NewRecord, Record
from callboard.testing.conformance.candidates.memory_log import memory_log
from callboard.testing.conformance.log.harness import LogHarness

Prepare = Callable[[LogHarness], Coroutine[Any, Any, None]]

STEPS = 20
"""Steps of a history: enough to trim, continue and look back, and few enough to read after a failure."""

_KEYS = st.sampled_from(["", "", "a", "b", "c"])
_HEADERS = st.sampled_from([(), (("type", "x"),), (("b", "2"), ("a", ""), ("b", "ü"))])
_RECORDS = st.lists(
    st.builds(
        lambda size, key, headers: NewRecord(payload=bytes(size), key=key, headers=headers),
        st.integers(0, 40), _KEYS, _HEADERS,
    ),
    max_size=6,
)  # fmt: skip
_OFFSETS = st.integers(-2, 9) | st.integers(-2, 40)


class _Side:
    """One of the two logs. Its answers are relative to its first record: offsets and clocks may begin anywhere."""

    def __init__(self, harness: LogHarness) -> None:
        self.harness = harness
        self.log: Log

    async def begin(self) -> None:
        self.log = await self.harness.open()
        await self.log.ensure(self.harness.topic)
        (self.first,) = await self.log.append(self.harness.topic, [NewRecord(payload=b"first")])
        (record,) = await self.log.read(self.harness.topic, self.first)
        self.time_ns = record.time_ns

    async def outcome(self, method: str, *arguments: Any) -> Any:
        try:
            return self.relative(await getattr(self.log, method)(self.harness.topic, *arguments))
        except OffsetOutOfRange as error:
            return OffsetOutOfRange, *(place - self.first for place in (error.offset, error.first, error.end))
        except CallboardError as error:
            return type(error)

    async def read_on(self, start: int, page: int) -> Any:
        """Everything from there to the end, as a subscriber reads it."""
        found: list[Record] = []
        try:
            while records := await self.log.read(self.harness.topic, start, page):
                assert len(records) <= page
                found += records
                start = records[-1].offset + 1
        except OffsetOutOfRange:
            return OffsetOutOfRange
        return self.relative(found)

    def relative(self, answer: Any) -> Any:
        match answer:
            case bool() | None:
                return answer
            case int():
                return answer - self.first
            case Bounds(first, end):
                return first - self.first, end - self.first
            case Record():
                return answer.offset - self.first, answer.time_ns - self.time_ns, answer.payload, answer.headers
        return [self.relative(one) for one in answer]


class LikeMemory(RuleBasedStateMachine):
    """One history on both logs."""

    def __init__(self, new: Callable[[], AbstractContextManager[LogHarness]], prepare: Prepare | None) -> None:
        super().__init__()
        with ExitStack() as stack:
            self.memory = _Side(stack.enter_context(memory_log()))
            self.other = _Side(stack.enter_context(new()))
            self.runner = stack.enter_context(asyncio.Runner())
            if prepare is not None:
                self.runner.run(prepare(self.other.harness))
            for side in (self.memory, self.other):
                self.runner.run(side.begin())
            self.stack = stack.pop_all()
        self.able = self.other.log.capabilities

    def teardown(self) -> None:
        """Close both."""
        self.runner.run(self.other.log.close())
        self.stack.close()

    def outcomes(self, method: str, arguments: Callable[[_Side], tuple[Any, ...]]) -> tuple[Any, Any]:
        """The answers of the log in memory, and of the other log."""
        memory, other = (self.runner.run(side.outcome(method, *arguments(side))) for side in (self.memory, self.other))
        return memory, other

    def both(self, method: str, arguments: Callable[[_Side], tuple[Any, ...]]) -> None:
        """Require the same outcome."""
        memory, other = self.outcomes(method, arguments)
        assert other == memory, f"{method} answers {other!r}, and in memory {memory!r}"

    @rule(records=_RECORDS)
    def append(self, records: list[NewRecord]) -> None:
        """Without keys if the log does not support them."""
        if Capability.KEYS not in self.able:
            records = [NewRecord(payload=record.payload, headers=record.headers) for record in records]
        self.both("append", lambda _: (records,))

    @rule(start=_OFFSETS, page=st.integers(1, 9))
    def read_on(self, start: int, page: int) -> None:
        """From inside and outside the range to the end, page by page."""
        memory, other = (self.runner.run(side.read_on(start + side.first, page)) for side in (self.memory, self.other))
        assert other == memory, f"the pages are {other!r}, and in memory {memory!r}"

    @rule(start=_OFFSETS, max_records=st.integers(1, 9), max_bytes=st.integers(1, 100))
    def read(self, start: int, max_records: int, max_bytes: int) -> None:
        """One page. A log need not fill it: a beginning will do, but not nothing."""
        memory, other = self.outcomes("read", lambda side: (start + side.first, max_records, max_bytes))
        if isinstance(memory, list) and isinstance(other, list) and memory and other:
            memory = memory[: len(other)]
        assert other == memory, f"read answers {other!r}, and in memory {memory!r}"

    @rule(start=_OFFSETS)
    def wait(self, start: int) -> None:
        """With a timeout of zero."""
        self.both("wait", lambda side: (start + side.first, 0))

    @rule()
    def bounds(self) -> None:
        """As they are now."""
        self.both("bounds", lambda _: ())

    @rule(seconds=st.integers(1, 9))
    def pass_time(self, seconds: int) -> None:
        """On both clocks."""
        for side in (self.memory, self.other):
            assert side.harness.pass_time is not None
            side.harness.pass_time(seconds)

    @precondition(lambda self: Capability.TRIM in self.able)
    @rule(below=st.none() | _OFFSETS, age_s=st.none() | st.integers(0, 10), size=st.none() | st.integers(0, 200))
    def trim(self, below: int | None, age_s: int | None, size: int | None) -> None:
        """By any of the limits."""
        above = size if Capability.TRIM_BYTES in self.able else None
        self.both("trim", lambda side: (Retention(None if below is None else below + side.first, age_s, above),))

    @precondition(lambda self: Capability.DURABLE in self.able)
    @rule()
    def reopen(self) -> None:
        """A durable log is the same afterwards."""

        async def reopen() -> None:
            await self.other.log.close()
            self.other.log = await self.other.harness.open()
            await self.other.log.ensure(self.other.harness.topic)

        self.runner.run(reopen())


def compare_histories(
    new: Callable[[], AbstractContextManager[LogHarness]], examples: int = 25, prepare: Prepare | None = None
) -> None:
    """Fail with the shortest history found in which a log and the log in memory disagree.

    Args:
        new: makes an empty log for each history.
        examples: how many histories to try.
        prepare: applied to the empty log of each history, for example to make its segments small.
    """
    run_state_machine_as_test(
        lambda: LikeMemory(new, prepare),  # type: ignore[arg-type] # any factory will do
        settings=settings(
            max_examples=examples, stateful_step_count=STEPS, deadline=None, database=None,
            suppress_health_check=list(HealthCheck), report_multiple_bugs=False,
        ),
    )  # fmt: skip
