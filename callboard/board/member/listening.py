"""Decides what each listener is told, and when. It has no clock and calls no one."""

from dataclasses import dataclass, replace

from callboard.board.member.differences import Difference, difference
from callboard.board.member.topology_view import TopologyEvent, TopologyEventKind, TopologyView, Validity


@dataclass(slots=True)
class _Listener:
    critical: bool
    not_before_ms: int
    last: TopologyView | None = None
    changes: int = 0
    told_changing: bool = False
    busy_with: TopologyEvent | None = None
    """The event that it has not returned from."""


class Listening:
    """The topology as told to listeners, each at its own pace.

    What a listener is told next follows from the present topology and from what it was told last. So a slow listener
    misses what is over, and no queue can grow.

    ``delay_ms`` is how long after the first change a next view is held back, to tell many changes as one. The window is
    fixed: later changes do not extend it. If no view is agreed at its end, there is another.
    """

    def __init__(self, alone: TopologyView, delay_ms: int = 0) -> None:
        alone.validity.ended = True
        self._delay_ms = delay_ms
        self._shown = alone
        self._told: TopologyView | None = None  # the last view for listeners
        self._agreed: TopologyView | None = None  # the view to tell next
        self._changing = True
        self._changes = 0
        self._window_ms: int | None = None  # when it ends
        self._listeners: dict[object, _Listener] = {}

    def begin(self, alone: TopologyView) -> None:
        """Show this view of the own instance until the first agreement."""
        alone.validity.ended = True
        self._shown = alone

    @property
    def view(self) -> TopologyView:
        """The current view or, while there is none, the last one; before the first, only the own instance."""
        return self._shown

    @property
    def may_acknowledge(self) -> bool:
        """Whether no critical listener acts by a view that was current: all have returned from ``CHANGING``."""
        return self._changing and all(
            each.busy_with is None and (each.last is None or each.told_changing)
            for each in self._listeners.values()
            if each.critical
        )

    def bind(self, listener: object, *, critical: bool = True, not_before_ms: int = 0) -> bool:
        """Add a listener, which is told nothing before this time; False if it is there already."""
        added = listener not in self._listeners
        self._listeners.setdefault(listener, _Listener(critical, not_before_ms))
        return added

    def unbind(self, listener: object) -> bool:
        """Remove the listener, which is told nothing more; False if it was not there."""
        return self._listeners.pop(listener, None) is not None

    def observe(self, view: TopologyView | None, now_ms: int, *, agreed: bool) -> None:
        """The topology is now this one, ``agreed`` or not; None if it is unknown."""
        before = self._told
        differs = difference(before, view) if before and view else Difference.NONE
        self._agreed = view if agreed else None
        if before and differs is Difference.TOPOLOGY and self._delay_ms and self._window_ms is None:
            self._window_ms = now_ms + self._delay_ms
        if self._agreed is None or differs is Difference.TOPOLOGY:
            self._change()
        if self._changing:
            self.tick(now_ms)
        elif before and self._agreed:
            if differs is Difference.PROPERTIES:
                before.validity.ended = True
                before = self._told = replace(self._agreed, validity=Validity())
            self._shown = replace(self._agreed, validity=before.validity)  # with the health of now

    def tick(self, now_ms: int) -> None:
        """Time has passed; see ``wake_ms``."""
        if not self._changing or (self._window_ms is not None and now_ms < self._window_ms):
            return
        if self._agreed is not None:
            self._told = self._shown = replace(self._agreed, validity=Validity())
            self._changing, self._window_ms = False, None
        elif self._window_ms is not None:
            self._window_ms = now_ms + self._delay_ms

    def wake_ms(self, now_ms: int) -> int | None:
        """When to call ``tick`` and ``due`` next, if nothing else happens before."""
        later = [each.not_before_ms for each in self._listeners.values() if each.not_before_ms > now_ms]
        return min(later + ([] if self._window_ms is None else [self._window_ms]), default=None)

    def due(self, now_ms: int) -> list[tuple[object, TopologyEvent]]:
        """The events to deliver now, those of older listeners first. Each listener is told nothing else until
        ``returned``.
        """
        found = []
        for key, listener in self._listeners.items():
            if listener.busy_with is None and listener.not_before_ms <= now_ms and (event := self._next(listener)):
                listener.busy_with = event
                found.append((key, event))
        return found

    def returned(self, listener: object, event: TopologyEvent) -> None:
        """The listener has returned from this event. If it was removed and added meanwhile, it may be told another."""
        if (its := self._listeners.get(listener)) is not None and its.busy_with is event:
            its.busy_with = None

    def _change(self) -> None:
        if not self._changing:
            assert self._told is not None
            self._changing, self._shown = True, self._told
            self._told.validity.ended = True
            self._changes += 1

    def _next(self, its: _Listener) -> TopologyEvent | None:
        last, now = its.last, self._told
        if last is not None and its.changes != self._changes and not its.told_changing:
            its.told_changing = True
            return TopologyEvent(TopologyEventKind.CHANGING, last, None)
        if self._changing or now is None or last is now:
            return None
        kind = TopologyEventKind.CHANGED if its.told_changing else TopologyEventKind.PROPERTIES_CHANGED
        if last is None:
            kind = TopologyEventKind.INIT
        its.last, its.changes, its.told_changing = now, self._changes, False
        return TopologyEvent(kind, last, now)
