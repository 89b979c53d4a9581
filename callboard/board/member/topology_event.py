"""What a listener is told."""

from dataclasses import dataclass
from enum import StrEnum

from callboard.board.member.topology_view import TopologyView
from callboard.errors import RequestRefused


class TopologyEventKind(StrEnum):
    """What happened. A listener is told ``INIT``, then any number of ``PROPERTIES_CHANGED`` and pairs of ``CHANGING``
    and ``CHANGED``; a ``CHANGING`` may be the last.
    """

    INIT = "topology_init"
    """The first event of every listener: the first view that it is given."""
    CHANGING = "topology_changing"
    """The view is no longer current. Stop what relies on it, then return: until the listener has returned, no member of
    the cluster is told the next view.
    """
    CHANGED = "topology_changed"
    """All members agreed on the next view, which may be equal to the old one."""
    PROPERTIES_CHANGED = "properties_changed"
    """The same instances and leader, but other properties, or another status."""


_GIVES = {
    TopologyEventKind.INIT: (False, True),
    TopologyEventKind.CHANGING: (True, False),
    TopologyEventKind.CHANGED: (True, True),
    TopologyEventKind.PROPERTIES_CHANGED: (True, True),
}
"""Whether there is an old view, and a new one."""


@dataclass(frozen=True, slots=True)
class TopologyEvent:
    """A change of the topology. ``old`` is the last view that this listener was given, no longer current; ``new`` is
    the current one. There is no ``old`` at ``INIT``, and no ``new`` at ``CHANGING``. Raises ``RequestRefused``
    otherwise.
    """

    kind: TopologyEventKind
    old: TopologyView | None
    new: TopologyView | None

    def __post_init__(self) -> None:
        given = self.old is not None, self.new is not None
        if given != _GIVES[self.kind]:
            raise RequestRefused(f"{self.kind} has the wrong views: old and new are {given}, not {_GIVES[self.kind]}")
        if (self.old and self.old.is_current) or (self.new and not self.new.is_current):
            raise RequestRefused(f"{self.kind} must replace a view that is no longer current by one that is")
