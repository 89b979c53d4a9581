"""Announces how far a fold is, so that ``callboard status`` and ``callboard doctor`` can show it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from callboard.actors.core.decision import After, Done, Effect, Failed, Input, Moment, Stopping, Tick, note
from callboard.actors.core.effects import Append
from callboard.messages.bounds import clipped
from callboard.messages.entities.entity_mail import FoldState
from callboard.messages.entities.entity_messages import FoldAnnouncementMessage
from callboard.messages.headers import new_record

INTERVAL_S = 60
"""Between announcements without a change."""

GAP_S = 1.0
"""Least time between two announcements."""

GOODBYE_S = 3.0
"""How long a stop waits until the last one is on the log."""

TROUBLES_MAX = 20
TROUBLE_CHARS_MAX = 500
PROBLEM_CHARS_MAX = 2000
"""Of the texts in an announcement: it is read with thousands of others."""

OWNER = "announcer"


@dataclass(frozen=True, slots=True)
class Announced:
    """What is announced, on which topic; nothing if that is empty. See ``FoldAnnouncementMessage``."""

    topic: str
    kind: str
    name: str
    instance: str


class FoldAnnouncer:
    """Appends announcements: on a change of state, but at most once a second; each minute; and a last one at the stop.
    What cannot be appended is left out. The owner passes all its inputs to ``handle``.
    """

    def __init__(self, its: Announced, rng: Random) -> None:
        self._its = its
        self._incarnation = f"{rng.getrandbits(64):016x}" if its.topic else ""
        self._said = ""  # the last state
        self._said_s = float("-inf")  # by the monotonic clock
        self._is_soon = False
        self._is_failing = False
        self._count = 0
        self._goodbye: Effect | None = None
        self.has_left = False
        """Whether the last one was appended, or could not be."""

    def handle(self, message: Input, state: str, told: Callable[[], FoldState], now: Moment) -> Iterator[Effect]:
        """Handle an input. ``state`` is that of the fold after it, and ``told`` gives the figures."""
        match message:
            case Stopping() if not self._its.topic:
                self.has_left = True
            case Stopping():
                self._goodbye = self._append(state, told(), now, ended=True)
                yield self._goodbye
                yield After("goodbye", GOODBYE_S)
            case Tick("goodbye"):
                self.has_left = True
            case Done(effect) | Failed(effect) if effect is self._goodbye:
                self.has_left = True
            case Done(Append(owner=owner)) if owner == OWNER:
                self._is_failing = False
            case Failed(Append(owner=owner), error) if owner == OWNER:
                level = "debug" if self._is_failing else "warning"
                self._is_failing = True
                yield note("announcement.failed", level, name=self._its.name, error=str(error))
            case Tick("announce"):
                self._is_soon = False
                yield from self._announce(state, told, now)
            case _:
                yield from self._look(state, told, now)

    def _look(self, state: str, told: Callable[[], FoldState], now: Moment) -> Iterator[Effect]:
        """Announce a change."""
        if state == self._said or self._is_soon or not self._its.topic or self._goodbye is not None:
            return
        if (wait_s := self._said_s + GAP_S - now.mono_s) > 0:
            self._is_soon = True
            yield After("announce", wait_s)
        else:
            yield from self._announce(state, told, now)

    def _announce(self, state: str, told: Callable[[], FoldState], now: Moment) -> Iterator[Effect]:
        if self._goodbye is None:
            yield self._append(state, told(), now)
            yield After("announce", float(INTERVAL_S))

    def _append(self, state: str, its: FoldState, now: Moment, *, ended: bool = False) -> Append:
        self._said, self._said_s, self._count = state, now.mono_s, self._count + 1
        message = FoldAnnouncementMessage(
            kind=self._its.kind, name=self._its.name, instance=self._its.instance, incarnation=self._incarnation,
            state=state, places=its.places, held=its.held, active=its.active, unreadable=its.unreadable,
            refused=its.refused, problem=_text(its.problem, PROBLEM_CHARS_MAX),
            troubles=tuple(_text(each, TROUBLE_CHARS_MAX) for each in its.troubles[:TROUBLES_MAX]),
            interval_s=INTERVAL_S, ended=ended,
        )  # fmt: skip
        unique = f"{self._incarnation}/{self._count}"
        record = new_record(message, record_id=unique, time_ns=now.wall_ns, producer=self._its.instance)
        return Append(self._its.topic, (record,), owner=OWNER)


def _text(text: str, most: int) -> str:
    """The text, as long as it may be, and without what cannot be encoded."""
    return clipped(text, most).encode(errors="replace").decode()
