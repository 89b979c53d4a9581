"""Carries out what actors ask of the log, and what functions of the service carry out."""

from collections.abc import Collection, Mapping
from typing import Any

from callboard.actors.core.agent import EffectFunction
from callboard.actors.core.decision import Perform
from callboard.actors.core.effects import Append, EnsureTopic, FindBounds, LogRead, ReadLog, TopicBounds, TrimTopic
from callboard.backends.log import Capability, Log, Retention
from callboard.errors import RequestRefused


class LogWorld:
    """An agent's access to the log; see ``World``.

    Args:
        log: shared by all agents of a process, or this agent's own if ``owned``.
        topics: the only ones that may be written; None for all.
        effects: the functions that carry out other effects, by the effects' classes.
        owned: whether ``close`` also closes the log.
    """

    def __init__(
        self,
        log: Log,
        *,
        topics: Collection[str] | None = None,
        effects: Mapping[type[Perform], EffectFunction] | None = None,
        owned: bool = False,
    ) -> None:
        self._log, self._topics, self._effects, self._owned = log, topics, effects or {}, owned
        self._read_up_to: dict[str, tuple[str, int]] = {}  # by topic, of the last read that found records: log and end

    async def perform(self, effect: Perform) -> Any:
        """The result that the effect's description promises."""
        if isinstance(effect, Append | EnsureTopic | TrimTopic):
            self._check(effect.topic)
        match effect:
            case ReadLog():
                return await self._read(effect)
            case FindBounds(topic=topic):
                return await self._bounds(topic)
            case Append(topic=topic, records=records):
                return tuple(await self._log.append(topic, records))
            case EnsureTopic(topic=topic):
                await self._log.ensure(topic)
            case TrimTopic(topic=topic, log_id=log_id, below=below):
                if Capability.TRIM in self._log.capabilities:
                    await self._log.trim(topic, Retention(below_offset=below, log_id=log_id))
            case _:
                name = type(effect).__name__
                if type(effect) not in self._effects:
                    raise TypeError(f"no function carries out {name}; add one to the agent: effects={{{name}: ...}}")
                return await self._effects[type(effect)](effect)
        return None

    async def close(self) -> None:
        """Close the log if it is this agent's own."""
        if self._owned:
            await self._log.close()

    def _check(self, topic: str) -> None:
        if self._topics is not None and topic not in self._topics:
            its = ", ".join(self._topics) or "none"
            raise RequestRefused(f"topic {topic!r} is not the agent's; its topics: {its}; add it", code="unknown_name")

    async def _bounds(self, topic: str) -> TopicBounds:
        identity = await self._log.identity(topic)
        first, end = await self._log.bounds(topic)
        return TopicBounds(identity, first, end)

    async def _read(self, effect: ReadLog) -> LogRead:
        topic, start = effect.topic, effect.start
        identity, wait_s = await self._log.identity(topic), effect.wait_s
        if wait_s > 0 and self._read_up_to.get(topic) == (identity, start):  # then a read is likely to find nothing
            await self._log.wait(topic, start, wait_s)
            wait_s = 0.0
        records = await self._log.read(topic, start, effect.max_records, effect.max_bytes)
        if not records and wait_s > 0 and await self._log.wait(topic, start, wait_s):
            records = await self._log.read(topic, start, effect.max_records, effect.max_bytes)
        if records:
            self._read_up_to[topic] = identity, records[-1].offset + 1
            return LogRead(identity, tuple(records), records[-1].offset + 1)
        # No record, yet the end may lie further on, behind a gap. Ask for the end before the last read, or a
        # record appended between the two would be skipped.
        end = (await self._log.bounds(topic)).end
        if end > start:
            records = await self._log.read(topic, start, effect.max_records, effect.max_bytes)
        return LogRead(identity, tuple(records), records[-1].offset + 1 if records else max(start, end))
