"""Defines what a log is: every implementation must pass every check, including those of other packages.

A check is a function that takes a ``LogHarness``; it needs no test framework::

    async def make() -> Log:
        return MyLog(url)

    for check in ALL_CHECKS:
        asyncio.run(verify(check, LogHarness(open=make, topic=unused_name())))
"""

from collections.abc import Awaitable, Callable

from callboard.testing.conformance.log.harness import LogHarness
from callboard.testing.conformance.log.records import append, gaps, headers, keys, large_records, order, read
from callboard.testing.conformance.log.service import capabilities, close, concurrency, crash, restart, wake_up
from callboard.testing.conformance.log.topic import bounds, identity, out_of_range, replace, retention, topics
from callboard.testing.conformance.verdict import checks_of, verify

Check = Callable[[LogHarness], Awaitable[None]]

ALL_CHECKS: tuple[Check, ...] = checks_of(
    append, read, order, bounds, gaps, headers, large_records, keys, out_of_range, retention,
    wake_up, concurrency, identity, topics, capabilities, crash, restart,
    replace, close,
)  # fmt: skip
"""Every check. An operation that a log does not declare must be refused."""

__all__ = ["ALL_CHECKS", "Check", "LogHarness", "verify"]
