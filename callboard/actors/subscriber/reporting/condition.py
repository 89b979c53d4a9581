"""Why a subscriber does not move, in words for whoever has to act."""

from dataclasses import dataclass

from callboard.actors.core.decision import Moment
from callboard.actors.subscriber.commands.predecessors import not_in_force
from callboard.actors.subscriber.gates.gate import Wait
from callboard.actors.subscriber.gates.pacing import paused
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.topic_messages import State


@dataclass(slots=True)
class Condition:
    """What stands in the way; empty texts mean nothing does.

    ``gate`` is what the package at the head waits for. ``failure`` is its error, and ``kind`` the state that it stands
    for.
    """

    gap: str = ""
    repository: str = ""
    unreadable: str = ""
    statuses: str = ""
    commands: str = ""
    gate: Wait | None = None
    failure: str = ""
    kind: State = State.RETRYING
    next_try_ns: int = 0
    slow: str = ""
    state: State = State.STARTING
    reason: str = "waits for its name"
    since_ns: int = 0

    def fail(self, error: str, kind: State, next_try_ns: int) -> None:
        """The package at the head could not be imported."""
        self.failure, self.kind, self.next_try_ns = error, kind, next_try_ns

    def recover(self) -> None:
        """The head moved on."""
        self.failure, self.next_try_ns = "", 0

    def enter(self, state: State, reason: str, now: Moment) -> bool:
        """Be in this state; True if that is news."""
        if (state, reason) == (self.state, self.reason) and self.since_ns:
            return False
        if state is not self.state or not self.since_ns:
            self.since_ns = now.wall_ns
        self.state, self.reason = state, reason
        return True

    def leave(self, now: Moment) -> None:
        """Be stopped, and keep saying what stood in the way."""
        stuck = self.state in (State.GAP, State.BLOCKED, State.RETRYING, State.WAITING)
        self.enter(State.STOPPED, f"was {self.state.name.lower()}: {self.reason}" if stuck else "", now)

    def observe(self, ledger: Ledger, *, starting: str, working: bool, now: Moment) -> bool:
        """Work out the state; True if it changed. ``starting`` says what is done before the first import."""
        state, reason = self._work_out(ledger, starting=starting, working=working)
        texts = (reason, self.slow, self.commands, not_in_force(ledger))
        return self.enter(state, "; ".join(text for text in texts if text), now)

    def _work_out(self, ledger: Ledger, *, starting: str, working: bool) -> tuple[State, str]:
        if self.gap:
            return State.GAP, self.gap
        if waits := self.repository or self.unreadable or self.statuses:
            return State.WAITING, waits
        if starting:
            return State.STARTING, starting
        if self.gate or ledger.paused_by:
            return (self.gate.state, self.gate.reason) if self.gate else (State.PAUSED, paused(ledger))
        if self.failure:
            attempt = f"attempt {ledger.attempts} failed: " if self.kind is State.RETRYING else ""
            return self.kind, attempt + self.failure
        return (State.IMPORTING, "") if working else (State.IDLE, "")
