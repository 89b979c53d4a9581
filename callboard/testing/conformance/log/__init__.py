"""Decides what a log is: every implementation passes every check, also those of other packages.

A check is a function that takes a ``LogHarness``; it needs no test framework::

    async def make() -> Log:
        return MyLog(url)

    for check in ALL_CHECKS:
        asyncio.run(verify(check, LogHarness(open=make, topic=unused_name())))
"""

from collections.abc import Awaitable, Callable

from callboard.testing.conformance.log import (
    append,
    bounds,
    capabilities,
    close,
    concurrency,
    crash,
    gaps,
    headers,
    identity,
    keys,
    large_records,
    order,
    out_of_range,
    read,
    replace,
    restart,
    retention,
    topics,
    wake_up,
)
from callboard.testing.conformance.log.harness import LogHarness
from callboard.testing.conformance.verdict import verify

Check = Callable[[LogHarness], Awaitable[None]]

_SUBJECTS = (append, read, order, bounds, gaps, headers, large_records, keys, out_of_range, retention,
             wake_up, concurrency, identity, topics, capabilities, crash, restart,
             replace, close)  # fmt: skip

ALL_CHECKS: tuple[Check, ...] = tuple(
    member for subject in _SUBJECTS for name, member in vars(subject).items() if name.startswith("check_")
)
"""Every check. What a log does not declare is checked for being refused."""

__all__ = ["ALL_CHECKS", "Check", "LogHarness", "verify"]
