"""Bugs in whether a subscriber may continue: under a name that another holds, or on another log."""

from dataclasses import replace
from typing import Any

from callboard.actors.core import lease
from callboard.actors.subscriber.effects import Permit
from callboard.actors.subscriber.reporting.lease_holder import LeaseHolder, News
from callboard.actors.subscriber.startup import gap
from callboard.actors.subscriber.startup.startup import Startup
from callboard.testing.simulation.planted.patch import Patch


def _never(right: Any, self: Startup, now: Any) -> None:
    if not self.open:
        right(self, now)


def _all_ours(right: Any, self: LeaseHolder, read: Any, now: Any) -> Any:
    news, effects = right(self, read, now)
    if news in (News.HELD, News.REFUSED):
        self._watched, self.refusal = None, ""
        self._until_s = now.mono_s + self._ttl_s
        return News.OURS, []
    return news, effects


def _any_copy(right: Any, ledger: Any, found: Any) -> str:
    return right(ledger, found)[:0]  # type: ignore[no-any-return]


def _any_log(right: Any, ledger: Any, bounds: Any) -> str:
    return "" if ledger.offset + 1 <= bounds.end else right(ledger, bounds)


def _by_records(right: Any, held: Any, claim: Any) -> bool:
    return bool(right(held, claim)) or claim.time_ns - held.time_ns > held.duration_s * 1e9


def _by_the_first_look(right: Any, self: LeaseHolder, read: Any, now: Any) -> Any:
    self._heard_s = min(self._heard_s, now.mono_s - 2.0)
    return right(self, read, now)


def _by_its_own_lease(right: Any, self: Any) -> Any:
    return min(right(self), self._mine.lease_ms / 1000)


def _by_any_claim(right: Any, held: Any, claim: Any) -> bool:
    return bool(right(held, claim)) or claim.takes_over >= 0


def _by_the_last_claim(right: Any, self: lease.Holder[Any], claim: Any) -> None:
    right(self, replace(claim, term=-1))
    self.rivals.clear()  # ignoring terms alone was seen to go wrong only where three hosts share a name


def _from_the_first_record(right: Any, self: lease.Holder[Any], first: int = -1) -> None:
    right(self, min(first, lease.ORIGIN))


def _without_gaps(right: Any, self: lease.LeaseClock, mono_s: float, gap_s: float = 0.0) -> float:
    return float(right(self, mono_s, gap_s and float("inf")))


def _never_late(right: Any, self: Permit, mono_s: float) -> bool:
    return bool(right(self, mono_s - 30.0))


BUGS = (
    Patch("a name is taken over by the times of the log", lease, "takes_over", _by_records),
    Patch("a standby is impatient", LeaseHolder, "_watch", _by_the_first_look),
    Patch("a standby counts its own lease", LeaseHolder, "_silence_s", _by_its_own_lease),
    Patch("a name is taken over from a holder that has renewed its lease", lease, "takes_over", _by_any_claim),
    Patch("a topic without its beginning belongs to the last claimant", lease.Holder, "_fold", _by_the_last_claim),
    Patch("a topic without its beginning is taken for a whole one", lease.Holder, "__init__", _from_the_first_record),
    Patch("a standby counts the time in which it was suspended", lease.LeaseClock, "look", _without_gaps),
    Patch("an import is committed when the name is another's", Permit, "is_over", _never_late),
    Patch("a name is kept when its time is over", Startup, "lapse", _never),
    Patch("a standby takes every name", LeaseHolder, "_decide", _all_ours),
    Patch("an older copy of the log is taken for the log", gap, "other_copy", _any_copy),
    Patch("any log that is long enough is taken for the log", gap, "find", _any_log),
)
