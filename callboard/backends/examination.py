"""What a backend can say about its own health, for ``callboard doctor``: an optional part of each contract.

A log, a blob store or a repository that has a method ``examine`` is asked by it; one that has none is only tried out.
So a log that another package offers joins in by having the method.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, runtime_checkable

from callboard.backends.log import Retention
from callboard.errors import CallboardError

CLOCK_SKEW_MAX_S = 5.0
"""Between two hosts. Synchronised clocks differ by milliseconds; who is silent is judged by windows of 30 s."""


Clock = Callable[[], int]
"""Nanoseconds since the epoch, by this host."""


class Level(StrEnum):
    """What a finding asks for."""

    OK = "ok"
    """Nothing: it is as it should be."""
    ADVICE = "advice"
    """Nothing now: it works, and could be better, or somebody else may need more."""
    PROBLEM = "problem"
    """Something has to be done."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: what it is and, unless it is as it should be, what to do.

    ``fix`` is a command or names a setting.
    """

    level: Level
    what: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Examination:
    """What a log found out about itself.

    ``kept`` is what the server itself removes from a topic by its settings, besides what callboard trims.
    """

    findings: list[Finding]
    kept: Mapping[str, Retention] = field(default_factory=dict)


@runtime_checkable
class ExaminableLog(Protocol):
    """A log that can be asked. Nothing is written; raises as the methods of ``Log`` do."""

    async def examine(self, topics: Sequence[str], clock: Clock) -> Examination:
        """Versions, schema, settings of the topics, clock and permissions."""
        ...


@runtime_checkable
class Examinable(Protocol):
    """A blob store or a repository that can be asked. Nothing is written; raises as its other methods do."""

    async def examine(self, clock: Clock) -> Sequence[Finding]:
        """Versions, settings, clock and permissions."""
        ...


def ok(what: str) -> Finding:
    """It is as it should be."""
    return Finding(Level.OK, what)


def advice(what: str, fix: str) -> Finding:
    """It works, and could be better."""
    return Finding(Level.ADVICE, what, fix)


def problem(what: str, fix: str) -> Finding:
    """It has to be put right."""
    return Finding(Level.PROBLEM, what, fix)


def problem_of(error: CallboardError) -> Finding:
    """The finding that an error is: its message says what is wrong and, after a semicolon, what to do."""
    what, _, fix = str(error).partition("; ")
    return problem(what, fix or "repair it, then run `callboard doctor` again")


def clock_finding(server: str, server_ns: int, before_ns: int, after_ns: int, precision_s: float = 0.0) -> Finding:
    """Whether this host's clock agrees with a server's.

    Args:
        server: what to call it.
        server_ns: its time, asked for between ``before_ns`` and ``after_ns`` by the clock of this host.
        before_ns: when it was asked.
        after_ns: when it had answered.
        precision_s: what the server's time is rounded down to.
    """
    ahead_s = (after_ns + before_ns) / 2e9 - server_ns / 1e9 - precision_s / 2
    unknown_s = (after_ns - before_ns) / 2e9 + precision_s / 2
    if abs(ahead_s) - unknown_s > CLOCK_SKEW_MAX_S:
        direction = "ahead of" if ahead_s > 0 else "behind"
        return problem(
            f"the clock of this host is {abs(ahead_s):.1f} s {direction} that of {server}",
            "synchronise both clocks: timedatectl set-ntp true",
        )
    return ok(f"the clocks of this host and {server} agree within {abs(ahead_s) + unknown_s:.1f} s")
