"""Bugs in who may go on: under a name that another one has, or on a log that is another one."""

from typing import Any

from callboard.actors.subscriber import position
from callboard.actors.subscriber.arrival import Arrival
from callboard.actors.subscriber.tenure import News, Tenure
from callboard.testing.simulation.planted.patch import Patch


def _never(right: Any) -> Any:
    def lapse(self: Arrival, now: Any) -> None:
        if not self.open:
            right(self, now)

    return lapse


def _all_ours(right: Any) -> Any:
    def search(self: Tenure, read: Any, now: Any) -> Any:
        news, effects = right(self, read, now)
        if news in (News.HELD, News.REFUSED):
            self.watching, self.refusal, self._unclaimed = False, "", False
            self._until_s = now.mono_s + self._ttl_s
            return News.OURS, []
        return news, effects

    return search


def _any_copy(right: Any) -> Any:
    def other_copy(ledger: Any, found: Any) -> str:
        return right(ledger, found)[:0]  # type: ignore[no-any-return]

    return other_copy


def _any_log(right: Any) -> Any:
    def gap(ledger: Any, bounds: Any) -> str:
        return "" if ledger.offset + 1 <= bounds.end else right(ledger, bounds)

    return gap


BUGS = (
    Patch("a name is kept when its time is over", Arrival, "lapse", _never),
    Patch("whoever stands by has every name", Tenure, "_search", _all_ours),
    Patch("an older copy of the log is taken for the log", position, "other_copy", _any_copy),
    Patch("any log that is long enough is taken for the log", position, "gap", _any_log),
)
