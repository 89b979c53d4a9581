"""When to start, replace and give up actors: the supervisor's decisions, without thespian, clock or I/O."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of supervision, all durations in seconds.

    The n-th restart within the window waits ``backoff_s[n]`` (the last value repeats). An actor that
    dies more than ``max_restarts`` times in ``window_s`` has a failure that restarting does not cure.
    ``beat_s`` is 0 where a hung actor cannot be distinguished from a busy one: both share the supervisor's thread.
    """

    backoff_s: tuple[float, ...] = (0.0, 0.05, 0.2, 1.0, 2.0)
    window_s: float = 30.0
    max_restarts: int = 10
    start_deadline_s: float = 10.0
    beat_s: float = 0.0
    missed_beats: int = 5


# Directives to the supervisor.


class Start(NamedTuple):
    """Create this incarnation, and call ``start_overdue`` after the start deadline."""

    role: str
    epoch: int


class Wait(NamedTuple):
    """Call ``waited`` after this time."""

    role: str
    seconds: float


class End(NamedTuple):
    """Make sure that this incarnation is dead."""

    role: str
    epoch: int


class Announce(NamedTuple):
    """Tell all peers that this incarnation is up."""

    role: str
    epoch: int


class Withdraw(NamedTuple):
    """Tell all peers that this incarnation is gone, for this reason if it was not its own fault."""

    role: str
    epoch: int
    reason: str = ""


class Ping(NamedTuple):
    """Ask this incarnation for a sign of life."""

    role: str
    epoch: int


class AskToStop(NamedTuple):
    """Ask this incarnation to finish."""

    role: str
    epoch: int


class GiveUp(NamedTuple):
    """The agent cannot continue, for this reason."""

    role: str
    reason: str


class AllStopped(NamedTuple):
    """No actor is left."""


Directive = Start | Wait | End | Announce | Withdraw | Ping | AskToStop | GiveUp | AllStopped


@dataclass(slots=True)
class _Child:
    epoch: int
    alive_at: float
    up: bool = False


class Supervision:
    """The state of every actor of an agent. A method takes an event and returns what to do, in order.

    All are idempotent: the same exit may be reported twice, and late, for an incarnation replaced long ago.
    """

    def __init__(self, roles: Iterable[str], limits: Limits, epochs: Mapping[str, int]) -> None:
        self._limits = limits
        self._epochs = {role: epochs.get(role, 0) for role in roles}
        self._children: dict[str, _Child] = {}
        self._restarts: dict[str, deque[float]] = {role: deque() for role in self._epochs}
        self._finished: set[str] = set()
        self._stopping = False

    def begin(self, now_s: float) -> list[Directive]:
        """Start all actors."""
        return [self._start(role, now_s) for role in self._epochs]

    def waited(self, role: str, now_s: float) -> list[Directive]:
        """The back-off of an actor is over."""
        if self._stopping or role in self._children or role in self._finished:
            return []
        return [self._start(role, now_s)]

    def came_up(self, role: str, epoch: int, now_s: float) -> list[Directive]:
        """An incarnation is ready; one already given up is ended."""
        child = self._current(role, epoch)
        if child is None:
            return [End(role, epoch)]
        child.up = True
        child.alive_at = now_s
        return [Announce(role, epoch)]

    def start_overdue(self, role: str, epoch: int, now_s: float) -> list[Directive]:
        """The start deadline has passed: an actor that died before it connected is never reported dead."""
        child = self._current(role, epoch)
        if child is None or child.up:
            return []
        reason = f"did not start within {self._limits.start_deadline_s:g} s"
        return [End(role, epoch), *self.exited(role, epoch, reason, now_s)]

    def beat_heard(self, role: str, epoch: int, now_s: float) -> list[Directive]:
        """A sign of life."""
        child = self._current(role, epoch)
        if child is not None:
            child.alive_at = now_s
        return []

    def pulse(self, now_s: float) -> list[Directive]:
        """Time for a beat: ping all actors, and treat those silent for too long as crashed."""
        patience_s = self._limits.beat_s * self._limits.missed_beats
        directives: list[Directive] = []
        for role, child in list(self._children.items()):
            if not child.up:
                continue
            silence_s = now_s - child.alive_at
            if silence_s > patience_s:
                directives.append(End(role, child.epoch))
                directives += self.exited(role, child.epoch, f"was silent for {silence_s:.1f} s", now_s)
            else:
                directives.append(Ping(role, child.epoch))
        return directives

    def crashed(self, role: str, epoch: int, reason: str, now_s: float, *, its_own: bool = True) -> list[Directive]:
        """An incarnation reports a bug, ``its_own`` unless a question of the service led to it."""
        return [End(role, epoch), *self.exited(role, epoch, reason, now_s, its_own=its_own)]

    def exited(self, role: str, epoch: int, reason: str, now_s: float, *, its_own: bool = True) -> list[Directive]:
        """An incarnation is gone. An exit that is not ``its_own`` fault does not count as a restart."""
        if self._current(role, epoch) is None:
            return []
        del self._children[role]
        withdraw = Withdraw(role, epoch, reason)
        if self._stopping:
            return [withdraw, *self._finish(role)]
        if not its_own:
            return [withdraw, self._start(role, now_s)]
        recent = self._restarts[role]
        recent.append(now_s)
        while now_s - recent[0] > self._limits.window_s:
            recent.popleft()
        if len(recent) > self._limits.max_restarts:
            self._finished.add(role)
            return [withdraw, GiveUp(role, self._verdict(role, reason))]
        delay_s = self._limits.backoff_s[min(len(recent), len(self._limits.backoff_s)) - 1]
        return [withdraw, Wait(role, delay_s) if delay_s else self._start(role, now_s)]

    def stopped(self, role: str, epoch: int) -> list[Directive]:
        """An incarnation has finished and is not replaced."""
        if self._current(role, epoch) is None:
            return []
        del self._children[role]
        return [Withdraw(role, epoch), End(role, epoch), *self._finish(role)]

    def stop(self) -> list[Directive]:
        """Ask all actors to finish; one that waits for a restart has finished."""
        if self._stopping:
            return []
        self._stopping = True
        if not self._children:
            return [AllStopped()]
        return [AskToStop(role, child.epoch) for role, child in self._children.items()]

    def drain_over(self) -> list[Directive]:
        """The time to finish is over: end the remaining actors."""
        left = [End(role, child.epoch) for role, child in self._children.items()]
        self._children.clear()
        return [*left, AllStopped()] if left else []

    def _start(self, role: str, now_s: float) -> Start:
        self._epochs[role] += 1
        self._children[role] = _Child(self._epochs[role], now_s)
        return Start(role, self._epochs[role])

    def _current(self, role: str, epoch: int) -> _Child | None:
        child = self._children.get(role)
        return child if child is not None and child.epoch == epoch else None

    def _finish(self, role: str) -> list[Directive]:
        self._finished.add(role)
        return [AllStopped()] if self._stopping and not self._children else []

    def _verdict(self, role: str, reason: str) -> str:
        return (
            f"actor {role!r} failed more than {self._limits.max_restarts} times in "
            f"{self._limits.window_s:g} s; the last time it {reason}"
        )
