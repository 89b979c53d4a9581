"""Bugs in what the listeners of a member are told."""

from typing import Any

from callboard.board.member.listening import Listening
from callboard.board.member.topology_view import TopologyEventKind
from callboard.testing.simulation.planted.patch import Patch


def _stays_current(right: Any, self: Listening) -> None:
    right(self)
    self._shown.validity.ended = False


def _again(right: Any, self: Listening, its: Any) -> Any:
    event = right(self, its)
    its.told_changing = its.told_changing and its.changes == self._changes
    return event


def _at_once(right: Any, self: Listening) -> bool:
    return right(self) or self._changing


def _never_closed(right: Any, self: Listening, its: Any) -> Any:
    now = self._told
    if its.told_changing and now is not None and its.last.epoch == now.epoch:
        return None
    return right(self, its)


def _from_the_newest(right: Any, self: Listening, its: Any) -> Any:
    if its.told_changing and its.last is not None and self._told is not None and not self._told.is_current:
        its.last = self._told
    return right(self, its)


def _once_more(right: Any, self: Listening, its: Any) -> Any:
    event = right(self, its)
    if event is not None and event.kind is TopologyEventKind.CHANGED:
        its.told_changing, its.changes = True, self._changes - 1
    return event


BUGS = (
    Patch("a view that is over stays current", Listening, "_change", _stays_current),
    Patch("a change is told twice", Listening, "_next", _again),
    Patch("a view is acknowledged while listeners act by the last", Listening, "may_acknowledge", _at_once),
    Patch("a change back to the same view is not closed", Listening, "_next", _never_closed),
    Patch("an event goes on from a view that was not told", Listening, "_next", _from_the_newest),
    Patch("a changed view is told as changed again", Listening, "_next", _once_more),
)
