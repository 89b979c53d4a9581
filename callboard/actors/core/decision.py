"""What an actor decides: an event comes in, a list of effects goes out. No clock, no randomness, no I/O.

A decision is a plain class. The runtime's shell feeds it events one at a time and carries out the effects
that it returns, in order. The same class therefore runs embedded, in processes of its own, and in the simulator.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple, Protocol

from callboard.errors import CallboardError
from callboard.messages.event import Event


class Moment(NamedTuple):
    """When an event is handled: wall clock time for display, monotonic seconds for durations."""

    wall_ns: int
    mono_s: float


class Origin(NamedTuple):
    """Who sent an event: the role in the agent, and for a question the number that its answer must carry."""

    role: str
    question: int = 0


# Inputs of a decision besides the events of its peers.


@dataclass(frozen=True, slots=True)
class Started:
    """The first input of every actor, once per incarnation."""


@dataclass(frozen=True, slots=True)
class PeerUp:
    """A peer has (re)started; it knows nothing of the mail to its predecessor."""

    role: str


@dataclass(frozen=True, slots=True)
class Tick:
    """The timer ``key`` has fired."""

    key: str


@dataclass(frozen=True, slots=True)
class Done:
    """An effect was carried out; ``result`` is the one that its description promises."""

    effect: "Perform"
    result: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """An effect could not be carried out; ``trace`` is its stack trace, for display."""

    effect: "Perform"
    error: CallboardError
    trace: str = ""


@dataclass(frozen=True, slots=True)
class Stopping:
    """The agent is stopping: finish what must be finished, then answer with ``Stopped``."""


Input = Event | Started | PeerUp | Tick | Done | Failed | Stopping


# Effects that a decision may return.


@dataclass(frozen=True, slots=True)
class Send:
    """Mail an event to a peer. At most once: lost if the peer is down or dies before it handles it."""

    role: str
    event: Event


@dataclass(frozen=True, slots=True)
class Reply:
    """Answer the question that came from ``origin``."""

    origin: Origin
    event: Event


@dataclass(frozen=True, slots=True)
class After:
    """Start the timer ``key``, replacing one with the same key; ``seconds < 0`` cancels it."""

    key: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Perform:
    """The base of every effect that does I/O; those on the log are in ``effects.py``. Ends in exactly one ``Done`` or
    ``Failed``.

    ``owner`` is the part of the actor that asked, and gets the answer. The world ignores it.
    """

    owner: str = field(default="", kw_only=True)


@dataclass(frozen=True, slots=True)
class Note:
    """Write a line to the log of the process: ``noun.past_verb`` and its fields."""

    event: str
    fields: tuple[tuple[str, str | int | float | bool], ...] = ()
    level: str = "info"


@dataclass(frozen=True, slots=True)
class Stopped:
    """This actor is ready to be ended."""


Effect = Send | Reply | After | Perform | Note | Stopped


class Decision(Protocol):
    """What the shell drives. One instance is one incarnation, and starts without state."""

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input. ``origin`` is ``Origin("")`` for anything but a peer's event. Must not block."""
        ...


DecisionFactory = Callable[[Any, Random], Decision]
"""Takes the actor's settings (frozen, picklable) and its own source of randomness."""


def note(event: str, level: str = "info", **fields: str | int | float | bool) -> Note:
    """A ``Note`` from keyword arguments."""
    return Note(event, tuple(fields.items()), level)


def as_mapping(line: Note) -> Mapping[str, str | int | float | bool]:
    """The fields of a note, for the logger."""
    return dict(line.fields)
