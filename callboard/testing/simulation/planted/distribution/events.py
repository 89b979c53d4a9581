"""Bugs in the events of packages."""

from typing import Any

from callboard.actors.publisher.events import event_source, notifier, outcome_events
from callboard.messages.distribution.package_event import Mark
from callboard.testing.simulation.planted.patch import Patch


def _hasty(right: Any, view: Any, publisher: str, log_id: str) -> int:
    least: int = right(view, publisher, log_id)
    return least if least < 0 else max(member.announcement.offset for member in view.members)


def _ahead(right: Any, self: Any) -> Mark | None:
    """Marks claim that everything read is reported, even what still waits to be due."""
    if self._follower.position < 0:
        return right(self)  # type: ignore[no-any-return]
    return Mark(kind=self.kind, log_id=self.log_id, offset=self._follower.position)


def _every_status(right: Any) -> Any:
    return right | {"imported": tuple(status for statuses in right.values() for status in statuses)}


BUGS = (
    Patch("a package is distributed when one subscriber has it", notifier, "slowest", _hasty),
    Patch("marks run ahead of the events", event_source.EventSource, "mark", _ahead),
    Patch("an event says imported of what failed", outcome_events, "OUTCOMES", _every_status),
)
