"""A publisher's agent that reports an unreadable log as the reason for a missing answer."""

import asyncio
from collections.abc import Sequence

from callboard.actors.core.agent import ActorStatus, Agent
from callboard.actors.publisher import roles
from callboard.backends.log import Log
from callboard.errors import LogError, LogUnavailable, NotAnswered
from callboard.messages.question import A, Question

READERS = (roles.FLEET, roles.QUEUE_CACHE, roles.STATUS_WATCHER)
"""Actors that answer from what they have read. Other processes may still change the outcome, and the answers say so."""

LOOK_S = 1.0
"""Seconds to wait for an answer before checking whether the log is readable, and the limit of that check."""

FAILURES_MAX = 2
"""A log may fail once in passing, such as when its server changes."""


class PublisherAgent:
    """Implements ``Agent`` over a running one.

    An actor that cannot read the log has no answer and retries. The caller learns within seconds that the log is the
    cause, instead of an actor's name at the timeout.
    """

    def __init__(self, agent: Agent, log: Log, topics: Sequence[str]) -> None:
        self._agent, self._log, self._topics = agent, log, topics

    async def ask(self, role: str, question: Question[A], timeout_s: float) -> A:
        """See ``Agent.ask``. Also raises a ``LogError`` if the log is the reason for no answer."""
        if role not in READERS:
            return await self._agent.ask(role, question, timeout_s)
        asking = asyncio.ensure_future(self._agent.ask(role, question, timeout_s))
        failures = 0
        try:
            while not (await asyncio.wait({asking}, timeout=LOOK_S))[0]:
                error = await unreadable(self._log, self._topics)
                failures = failures + 1 if error else 0
                if error and failures == FAILURES_MAX and not asking.done():
                    raise error
            return asking.result()
        except NotAnswered:
            if error := await unreadable(self._log, self._topics):
                raise error from None
            raise
        finally:
            asking.cancel()

    def actors(self) -> tuple[ActorStatus, ...]:
        """See ``Agent.actors``."""
        return self._agent.actors()

    async def kill(self, role: str) -> None:
        """See ``Agent.kill``."""
        await self._agent.kill(role)

    @property
    def has_ended(self) -> bool:
        """See ``Agent.has_ended``."""
        return self._agent.has_ended

    async def ended(self) -> None:
        """See ``Agent.ended``."""
        await self._agent.ended()

    async def stop(self, drain_s: float) -> None:
        """See ``Agent.stop``."""
        await self._agent.stop(drain_s)


async def unreadable(log: Log, topics: Sequence[str]) -> LogError | None:
    """Why one of the topics cannot be read; None if all can."""
    try:
        async with asyncio.timeout(LOOK_S):
            for topic in topics:
                await log.bounds(topic)
    except LogError as error:
        return error
    except TimeoutError:
        return LogUnavailable(f"the log does not answer within {LOOK_S:g} s; check its server or disk")
    return None
