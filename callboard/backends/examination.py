"""How a backend reports its own health to ``callboard doctor``: an optional part of each contract.

A log, blob store or repository may have a method ``examine``; one without it is only tried out. A log from another
package takes part by having the method.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol, runtime_checkable

from callboard.backends.log import Retention
from callboard.errors import CallboardError

CLOCK_SKEW_MAX_S = 5.0
"""Between two hosts. Synchronised clocks differ by milliseconds; silence is judged by windows of 30 s."""


Clock = Callable[[], int]
"""Returns this host's time, in nanoseconds since the epoch."""


class Level(StrEnum):
    """How urgent a finding is."""

    OK = "ok"
    """As it should be."""
    ADVICE = "advice"
    """Works, but could be better, or another user may need more."""
    PROBLEM = "problem"
    """Must be fixed."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check: what was found and, unless it is fine, what to do.

    ``fix`` is a command or names a setting.
    """

    level: Level
    what: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Examination:
    """The result of examining a log.

    ``kept`` is the retention that the server's own settings apply, besides callboard's trims.
    """

    findings: list[Finding]
    kept: Mapping[str, Retention] = field(default_factory=dict)


@runtime_checkable
class ExaminableLog(Protocol):
    """A log that can examine itself. Writes nothing; raises the same as the methods of ``Log``."""

    async def examine(self, topics: Sequence[str], clock: Clock) -> Examination:
        """Versions, schema, settings of the topics, clock and permissions."""


@runtime_checkable
class Examinable(Protocol):
    """A blob store or a repository that can examine itself. Writes nothing; raises the same as its other methods."""

    async def examine(self, clock: Clock) -> Sequence[Finding]:
        """Versions, settings, clock and permissions."""


def ok(what: str) -> Finding:
    """A finding that needs nothing."""
    return Finding(Level.OK, what)


def advice(what: str, fix: str) -> Finding:
    """A finding that works, but could be better."""
    return Finding(Level.ADVICE, what, fix)


def problem(what: str, fix: str) -> Finding:
    """A finding that must be fixed."""
    return Finding(Level.PROBLEM, what, fix)


def problem_of(error: CallboardError) -> Finding:
    """The finding for an error, whose message says what is wrong and, after a semicolon, what to do."""
    what, _, fix = str(error).partition("; ")
    return problem(what, fix or "repair it, then run `callboard doctor` again")


def clock_finding(server: str, server_ns: int, before_ns: int, after_ns: int, precision_s: float = 0.0) -> Finding:
    """Whether this host's clock agrees with a server's.

    Args:
        server: the name to show for it.
        server_ns: its time, asked for between ``before_ns`` and ``after_ns`` by the clock of this host.
        before_ns: when it was asked.
        after_ns: when it had answered.
        precision_s: the unit that the server's time is rounded down to.
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
