"""The agent of a publisher, which says when it is the log that keeps it from answering."""

import asyncio
from collections.abc import Sequence

from callboard.actors.core.agent import ActorStatus, Agent
from callboard.actors.publisher import roles
from callboard.backends.log import Log
from callboard.errors import LogError, LogUnavailable, NotAnswered
from callboard.messages.question import A, Question

READERS = (roles.FLEET, roles.QUEUE_CACHE, roles.STATUS_WATCHER)
"""Actors that answer by what they have read. What others do with the log may come of it yet, and they say so."""

LOOK_S = 1.0
"""How long an answer may take before somebody looks whether the log can be read, and how long that may take."""

FAILURES_MAX = 2
"""A log may fail once in passing, as when its server changes."""


class PublisherAgent:
    """Implements ``Agent`` over a running one.

    An actor that cannot read the log has no answer, and tries again: whoever asks is told within seconds that it is the
    log, not with the actor's name when the time is over.
    """

    def __init__(self, agent: Agent, log: Log, topics: Sequence[str]) -> None:
        self._agent, self._log, self._topics = agent, log, topics

    async def ask(self, role: str, question: Question[A], timeout_s: float) -> A:
        """See ``Agent.ask``. Raises also a ``LogError`` if the log is why there is no answer."""
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
    """Why one of the topics cannot be read, if that is so."""
    try:
        async with asyncio.timeout(LOOK_S):
            for topic in topics:
                await log.bounds(topic)
    except LogError as error:
        return error
    except TimeoutError:
        return LogUnavailable(f"the log does not answer within {LOOK_S:g} s; see whether its server or disk is there")
    return None
