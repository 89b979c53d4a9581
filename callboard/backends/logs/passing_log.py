"""A log over another one, which passes on what a subclass does not change."""

from collections.abc import Awaitable, Callable, Sequence
from typing import ParamSpec, TypeVar

from callboard.backends.log import READ_BYTES_MAX, READ_RECORDS_MAX, Bounds, Capability, Log, Retention
from callboard.messages.record import NewRecord, Record

P = ParamSpec("P")
T = TypeVar("T")


class PassingLog:
    """Passes every call on to ``log``, which it owns from now on. A subclass may override how, with ``_pass``."""

    def __init__(self, log: Log) -> None:
        self._log = log

    @property
    def capabilities(self) -> Capability:
        """Those of the log below."""
        return self._log.capabilities

    async def ensure(self, topic: str) -> None:
        """See ``Log``."""
        await self._pass(self._log.ensure, topic)

    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        """See ``Log``."""
        return await self._pass(self._log.append, topic, records)

    async def read(
        self, topic: str, start: int, max_records: int = READ_RECORDS_MAX, max_bytes: int = READ_BYTES_MAX
    ) -> list[Record]:
        """See ``Log``."""
        return await self._pass(self._log.read, topic, start, max_records, max_bytes)

    async def wait(self, topic: str, start: int, timeout_s: float) -> bool:
        """See ``Log``."""
        return await self._pass(self._log.wait, topic, start, timeout_s)

    async def bounds(self, topic: str) -> Bounds:
        """See ``Log``."""
        return await self._pass(self._log.bounds, topic)

    async def trim(self, topic: str, retention: Retention) -> int:
        """See ``Log``."""
        return await self._pass(self._log.trim, topic, retention)

    async def identity(self, topic: str) -> str:
        """See ``Log``."""
        return await self._pass(self._log.identity, topic)

    async def close(self) -> None:
        """See ``Log``; closes the log below."""
        await self._log.close()

    async def _pass(self, call: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        return await call(*args, **kwargs)
