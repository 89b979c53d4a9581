"""The log in memory, which is always available."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from callboard.backends.log import Log
from callboard.backends.logs.memory import MemoryLog
from callboard.backends.logs.signed_log import SignedLog
from callboard.backends.logs.tail import SharedTail
from callboard.messages.signing import SigningKey
from callboard.testing.conformance.log import LogHarness

Around = Callable[[Log], Log]
"""Wraps a log for the suite: unchanged, or for example in a ``SharedTail``."""

Restart = Callable[[], Awaitable[None]] | None
"""Restarts the log's server, if it has one."""

NOON_NS = 1_800_000_000 * 10**9


def itself(log: Log) -> Log:
    """See ``Around``."""
    return log


def signed_by_all(log: Log) -> Log:
    """The log with keys, as a board has it: see ``SignedLog``."""
    key = SigningKey("ops", b"0123456789abcdef")
    return SignedLog(log, key, (key,), "", log._clock)  # type: ignore[attr-defined]  # noqa: SLF001 - the harness's


class Clock:
    """A clock that moves only when it is advanced."""

    def __init__(self, now_ns: int = NOON_NS) -> None:
        self.now_ns = now_ns

    def __call__(self) -> int:
        """The time in nanoseconds."""
        return self.now_ns

    def pass_time(self, seconds: float) -> None:
        """Advance the clock."""
        self.pass_ns(int(seconds * 10**9))

    def pass_ns(self, nanoseconds: int) -> None:
        """Likewise."""
        self.now_ns += nanoseconds


@contextmanager
def memory_log(around: Around = itself) -> Iterator[LogHarness]:
    """A harness for the log in memory."""
    clock = Clock()

    async def make() -> Log:
        return around(MemoryLog(clock))

    async def gap(log: Log, topic: str, count: int) -> None:
        _in_memory(log)._topics[topic].end += count  # noqa: SLF001 - no call leaves a gap

    async def replace(log: Log, topic: str) -> None:
        del _in_memory(log)._topics[topic]  # noqa: SLF001 - no call removes a topic
        await log.ensure(topic)

    yield LogHarness(open=make, gap=gap, pass_time=clock.pass_time, replace=replace)


def _in_memory(log: Log) -> MemoryLog:
    below = log
    while isinstance(below, SharedTail | SignedLog):
        below = below._log  # noqa: SLF001 - only tests want to get below it
    assert isinstance(below, MemoryLog)
    return below
