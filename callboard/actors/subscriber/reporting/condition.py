"""A subscriber's state, and why it does not move, in words for the person who has to act."""

from dataclasses import dataclass
from typing import NamedTuple

from callboard.actors.core.decision import Moment
from callboard.messages.distribution.topic_messages import State


class Failure(NamedTuple):
    """The error of the package at the head, the state that it implies, and when the package is retried."""

    error: str = ""
    kind: State = State.RETRYING
    next_try_ns: int = 0

    def described(self, attempts: int) -> str:
        """The reason for the state; empty if nothing has failed."""
        return f"attempt {attempts} failed: {self.error}" if self.error and self.kind is State.RETRYING else self.error


@dataclass(frozen=True, slots=True)
class Condition:
    """The state, its reason, and since when."""

    state: State = State.STARTING
    reason: str = "waits for its name"
    since_ns: int = 0

    def entering(self, state: State, reason: str, now: Moment) -> "Condition":
        """The condition in this state; itself if nothing changes."""
        if (state, reason) == (self.state, self.reason) and self.since_ns:
            return self
        changed = state is not self.state or not self.since_ns
        return Condition(state, reason, now.wall_ns if changed else self.since_ns)

    def stopped(self) -> tuple[State, str]:
        """The state to end in, and as its reason the present obstacle."""
        stuck = self.state in (State.GAP, State.BLOCKED, State.RETRYING, State.WAITING)
        return State.STOPPED, f"was {self.state.name.lower()}: {self.reason}" if stuck else ""
