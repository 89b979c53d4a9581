"""Agents of a service's own, without an event loop."""

from callboard.actors.core import agent
from callboard.messages.question import A, Question
from callboard.sync.twin import Twin


class Agent(Twin[agent.Agent]):
    """See ``callboard.actors.Agent``. Created by ``Callboard.start``."""

    def ask(self, role: str, question: Question[A], timeout_s: float) -> A:
        """See ``callboard.actors.Agent.ask``."""
        return self._loop.run(self._asynchronous.ask(role, question, timeout_s))

    def actors(self) -> tuple[agent.ActorStatus, ...]:
        """See ``callboard.actors.Agent.actors``."""
        return self._asynchronous.actors()

    def kill(self, role: str) -> None:
        """See ``callboard.actors.Agent.kill``."""
        self._loop.run(self._asynchronous.kill(role))

    @property
    def has_ended(self) -> bool:
        """See ``callboard.actors.Agent.has_ended``."""
        return self._asynchronous.has_ended

    def ended(self) -> None:
        """See ``callboard.actors.Agent.ended``."""
        self._loop.run(self._asynchronous.ended())

    def stop(self, drain_s: float) -> None:
        """See ``callboard.actors.Agent.stop``."""
        self._loop.run(self._asynchronous.stop(drain_s))
