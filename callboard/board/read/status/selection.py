"""Selects, sorts and counts the subscribers of a status."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any

from callboard.board.views import BoardStatus, SubscriberStatus, shown_state
from callboard.errors import RequestRefused
from callboard.messages.distribution.fleet_mail import Liveness
from callboard.messages.distribution.topic_messages import State

STATES = tuple(dict.fromkeys(each.name.lower() for each in (*State, *Liveness) if each is not Liveness.LIVE))
"""The possible values of the column STATE."""


class Sort(StrEnum):
    """The sort orders; ties are sorted by name."""

    NEEDS = "needs"
    NAME = "name"
    STATE = "state"
    LAG = "lag"
    BEHIND = "behind"
    SEEN = "seen"


_KEYS: dict[Sort, Callable[[SubscriberStatus], Any]] = {
    Sort.NEEDS: lambda row: (not row.needs, not row.troubles),
    Sort.NAME: lambda _: (),
    Sort.STATE: shown_state,
    Sort.LAG: lambda row: -row.lag_packages,
    Sort.BEHIND: lambda row: -row.lag_s,
    Sort.SEEN: lambda row: -row.seen_s,
}
"""Sort keys: the longest queue, the oldest package, the longest silence first."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Subscribers whose name matches one of the patterns, in one of the states; with ``needs``, only those that need
    intervention. An empty field excludes none.
    """

    names: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    needs: bool = False
    sort: Sort = Sort.NEEDS

    def __post_init__(self) -> None:
        if unknown := sorted(set(self.states).difference(STATES)):
            raise RequestRefused(f"{unknown[0]!r} is not a state of a subscriber; choose among {', '.join(STATES)}")

    def of(self, rows: Sequence[SubscriberStatus]) -> tuple[SubscriberStatus, ...]:
        """The selected rows, sorted. Raises ``RequestRefused`` if no name matches."""
        for pattern in self.names:
            if not any(fnmatchcase(row.name, pattern) for row in rows):
                known = ", ".join(sorted(row.name for row in rows)) or "none yet"
                message = f"no subscriber named {pattern!r} was ever heard of on this log; known: {known}"
                raise RequestRefused(message, code="unknown_name")
        shown = [row for row in rows if self._has(row)]
        return tuple(sorted(shown, key=lambda row: (_KEYS[self.sort](row), row.name)))

    def status(self, view: BoardStatus) -> "SelectedStatus":
        """The status with the selected rows. Raises as ``of``."""
        rows = view.subscribers
        return SelectedStatus(self.of(rows), view.publishers, view.problem, view.notes, totals(rows))

    def _has(self, row: SubscriberStatus) -> bool:
        named = not self.names or any(fnmatchcase(row.name, pattern) for pattern in self.names)
        return named and shown_state(row) in (self.states or STATES) and (row.needs or not self.needs)


@dataclass(frozen=True, slots=True)
class SelectedStatus(BoardStatus):
    """The board at one moment, with some of the subscribers; ``totals`` counts all of them."""

    totals: Mapping[str, int] = field(default_factory=dict)


def totals(rows: Iterable[SubscriberStatus]) -> dict[str, int]:
    """The number of subscribers, of those that need intervention, and of those in each state."""
    rows = tuple(rows)
    states = Counter(shown_state(row) for row in rows)
    return {"subscribers": len(rows), "needs": sum(row.needs for row in rows)} | {
        state: states[state] for state in STATES if states[state]
    }
