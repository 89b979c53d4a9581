"""Which subscribers a status shows, in which order, and how many there are of each kind."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any

from callboard.board.views import SubscriberStatus, shown_state
from callboard.errors import ConfigError, RequestRefused
from callboard.messages.distribution.mailbox import Liveness
from callboard.messages.distribution.topic_messages import State

STATES = tuple(dict.fromkeys(each.name.lower() for each in (*State, *Liveness) if each is not Liveness.LIVE))
"""What the column STATE may say."""


class Sort(StrEnum):
    """The orders; within each by name."""

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
"""Who comes first; the longest queue, the oldest package, the longest silence."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Those whose name fits one of the patterns, in one of the states, and with ``needs`` only who needs somebody.
    What is empty excludes nobody.
    """

    names: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    needs: bool = False
    sort: Sort = Sort.NEEDS

    def __post_init__(self) -> None:
        if strangers := sorted(set(self.states).difference(STATES)):
            raise ConfigError(f"{strangers[0]!r} is no state of a subscriber; choose among {', '.join(STATES)}")

    def of(self, rows: Sequence[SubscriberStatus]) -> tuple[SubscriberStatus, ...]:
        """These rows in their order. Raises ``RequestRefused`` if nobody has such a name."""
        for pattern in self.names:
            if not any(fnmatchcase(row.name, pattern) for row in rows):
                known = ", ".join(sorted(row.name for row in rows)) or "none yet"
                message = f"no subscriber named {pattern!r} was ever heard of on this log; known: {known}"
                raise RequestRefused(message, code="unknown_name")
        shown = [row for row in rows if self._has(row)]
        return tuple(sorted(shown, key=lambda row: (_KEYS[self.sort](row), row.name)))

    def _has(self, row: SubscriberStatus) -> bool:
        named = not self.names or any(fnmatchcase(row.name, pattern) for pattern in self.names)
        return named and shown_state(row) in (self.states or STATES) and (row.needs or not self.needs)


def totals(rows: Iterable[SubscriberStatus]) -> dict[str, int]:
    """How many subscribers there are, how many of them need somebody, and how many are in each state."""
    rows = tuple(rows)
    states = Counter(shown_state(row) for row in rows)
    return {"subscribers": len(rows), "needs": sum(row.needs for row in rows)} | {
        state: states[state] for state in STATES if states[state]
    }
