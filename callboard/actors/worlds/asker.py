"""Sends the commands of tasks and reactions to entities."""

import asyncio
import re
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from callboard.actors.core.agent import Agent
from callboard.actors.core.lease import ORIGIN
from callboard.actors.entities import roles
from callboard.actors.entities.asking import AskEntity
from callboard.actors.entities.deciding import FORGOTTEN
from callboard.actors.entities.entity import Entity
from callboard.backends.log import Log
from callboard.errors import TopicMissing
from callboard.messages.entities.entity_mail import EntityCommand, EntityCommands, EntityOutcome
from callboard.messages.entities.entity_messages import EntityCommitMessage
from callboard.messages.event import replaced
from callboard.messages.reading import Unread, read

ASK_S = 30.0
"""Seconds for the answer to a command; then it is sent again."""

END_S, ENDS_MAX = 1.0, 600
"""How often one looks where a topic ends, in seconds; and how many of these ends are remembered."""

READ_MAX = 2000
"""Records that are searched at once."""


class Found(NamedTuple):
    """The outcomes of commands that have a commit below the offset ``end``."""

    made: dict[str, EntityOutcome]
    end: int


@dataclass(slots=True)
class Search:
    """A search through the topic of entities for commits of commands, by their ids."""

    commands: dict[str, EntityCommand] = field(default_factory=dict)
    found: "asyncio.Task[Found] | None" = None


class Asker:
    """Sends a command, and says what became of it, however long ago that was: entities forget commands, and then the
    topic is searched for it. All commands that wait for a search share one.

    Args:
        log: with the topics of the entities.
        topic: the topic of a class.
        keeper: the agent that keeps the entities of a class.
        ask_s: how long to wait for an answer, in seconds.
    """

    def __init__(
        self, log: Log, topic: Callable[[type[Entity]], str], keeper: Callable[[type[Entity]], Awaitable[Agent]],
        ask_s: float = ASK_S,
    ) -> None:  # fmt: skip
        self._log, self._topic, self._keeper, self._ask_s = log, topic, keeper, ask_s
        self._next: dict[str, Search] = {}
        self._ends: dict[str, deque[tuple[float, int]]] = {}
        self._running: dict[str, asyncio.Task[Found]] = {}

    async def __call__(self, effect: AskEntity) -> EntityOutcome:
        """What became of the command. Raises as ``Agent.ask`` and ``Log.read``."""
        topic = self._topic(effect.entity)
        command = replaced(effect.command, searched=await self._searched(topic, effect.since_s))
        while (outcome := await self._ask(effect.entity, command)).code == FORGOTTEN:
            if (await self._log.bounds(topic)).first > ORIGIN:
                return replaced(outcome, problem=f"{outcome.problem}; the first records of {topic} were removed")
            searched = await self._search(topic, command)
            if (made := searched.made.get(command.command_id)) is not None:
                return made
            command = replaced(command, searched=searched.end)
        return outcome

    async def _searched(self, topic: str, since_s: float) -> int:
        """An offset below which no command is that was sent after this time: where the topic ended at a time before."""
        ends, now_s = self._ends.setdefault(topic, deque(maxlen=ENDS_MAX)), asyncio.get_running_loop().time()
        if not ends or ends[-1][0] < now_s - END_S:
            with suppress(TopicMissing):  # its keeper creates it
                ends.append((now_s, (await self._log.bounds(topic)).end))
        return max((end for at_s, end in ends if at_s <= since_s), default=0)

    async def _ask(self, entity: type[Entity], command: EntityCommand) -> EntityOutcome:
        agent = await self._keeper(entity)
        return (await agent.ask(roles.KEEPER, EntityCommands(commands=(command,)), self._ask_s)).outcomes[0]

    async def _search(self, topic: str, command: EntityCommand) -> Found:
        """Search with all others that ask now, after the search that is under way."""
        search = self._next.setdefault(topic, Search())
        search.commands[command.command_id] = command
        if search.found is None:
            search.found = asyncio.create_task(self._found(topic, search))
        return await asyncio.shield(search.found)

    async def _found(self, topic: str, search: Search) -> Found:
        if before := self._running.get(topic):
            await asyncio.wait({before})
        assert search.found is not None
        self._running[topic] = self._next.pop(topic).found or search.found
        keys = {command.key for command in search.commands.values()}
        last, found = dict.fromkeys(keys, (0, 0)), dict[str, EntityOutcome]()
        theirs = re.compile(b"|".join(re.escape(key.encode()) for key in keys))
        at, end = await self._log.bounds(topic)
        while at < end and (records := await self._log.read(topic, at, READ_MAX)):
            for record in records:
                if theirs.search(record.payload) is None:
                    continue
                commit = read(record, (EntityCommitMessage,), lambda _: None)
                if isinstance(commit, Unread) or last.get(commit.key) != (commit.previous, commit.version):
                    continue
                last[commit.key] = commit.commit_id, commit.version + 1
                if commit.command_id in search.commands:
                    found[commit.command_id] = EntityOutcome(
                        version=commit.version + 1, offset=record.offset, repeated=True, problem=commit.reason,
                        code=commit.code, refused=bool(commit.reason),
                    )  # fmt: skip
            at = records[-1].offset + 1
        return Found(found, at)
