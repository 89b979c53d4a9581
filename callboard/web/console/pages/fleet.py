"""Who has what, how far behind, why, and what helps."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from callboard.board.views import PublisherStatus, SubscriberStatus, shown_state
from callboard.door.names import unknown
from callboard.messages.distribution.fleet_mail import Liveness
from callboard.messages.distribution.topic_messages import State
from callboard.web.console.page import Question, Shown

ROWS = 100
"""Subscribers, or publishers, on a page."""

STATES = tuple(dict.fromkeys(each.name.lower() for each in (*State, *Liveness) if each is not Liveness.LIVE))

NEEDS = "needs"
"""The order in which those that need an operator come first, and the filter for them alone."""

SORTS: Mapping[str, Callable[[SubscriberStatus], Any]] = {
    NEEDS: lambda row: (not row.needs, not row.troubles, -row.lag_packages),
    "name": lambda _: (),
    "state": shown_state,
    "behind": lambda row: -row.lag_packages,
    "bytes": lambda row: -row.lag_bytes,
    "age": lambda row: -row.lag_s,
    "offset": lambda row: row.offset,
    "errors": lambda row: -row.errors,
    "seen": lambda row: -row.seen_s,
}
"""The worst come first; ties are in the order of names."""


async def fleet(asked: Question) -> Shown:
    """Counts, then the subscribers that were asked for, of which those in trouble come first with what helps."""
    status = asked.reading.status
    wanted, state = asked.text("q"), asked.choice("state", (NEEDS, *STATES))
    sort, publisher = asked.choice("sort", SORTS, NEEDS), asked.text("publisher")
    if publisher and publisher not in (known := {each.name for each in status.publishers}):
        raise unknown("publisher", publisher, known)
    rows = [row for row in status.subscribers if _is_meant(row, wanted, publisher)]
    found = [row for row in rows if state in ("", shown_state(row)) or (state == NEEDS and row.needs)]
    found.sort(key=lambda row: (SORTS[sort](row), row.name))
    at = min(asked.whole("at", 0), max(len(found) - 1, 0)) // ROWS * ROWS
    page = found[at : at + ROWS]
    cards = [row for row in page if row.needs] if sort == NEEDS else []
    publishers = sorted(status.publishers, key=lambda each: (not each.needs, not each.troubles, each.name))
    return {
        "chosen": {"q": wanted, "state": state, "publisher": publisher, "sort": sort if sort != NEEDS else ""},
        "sort": sort,
        "totals": _totals(rows),
        "cards": cards,
        "rows": page[len(cards) :],
        "at": at,
        "found": len(found),
        "per_page": ROWS,
        "publishers": _some(publishers, publisher),
        "more_publishers": 0 if publisher else max(0, len(publishers) - ROWS),
    }


def _is_meant(row: SubscriberStatus, wanted: str, publisher: str) -> bool:
    follows = not publisher or not row.follows or publisher in row.follows
    return follows and wanted.casefold() in row.name.casefold()


def _totals(rows: Iterable[SubscriberStatus]) -> Shown:
    rows = tuple(rows)
    states = Counter(map(shown_state, rows))
    return {
        "subscribers": len(rows),
        "needs": sum(row.needs for row in rows),
        "behind": sum(row.lag_packages > 0 for row in rows),
        "packages": sum(max(row.lag_packages, 0) for row in rows),
        "bytes": sum(max(row.lag_bytes, 0) for row in rows),
        "errors": sum(row.errors for row in rows),
        "states": [(state, states[state]) for state in STATES if states[state]],
    }


def _some(publishers: list[PublisherStatus], name: str) -> list[PublisherStatus]:
    return [each for each in publishers if name in ("", each.name)][:ROWS]
