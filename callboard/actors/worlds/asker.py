"""Sends the commands of tasks and reactions to entities."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from callboard.actors.core.agent import Agent
from callboard.actors.core.lease import ORIGIN
from callboard.actors.entities import roles
from callboard.actors.entities.asking import AskEntity
from callboard.actors.entities.deciding import FORGOTTEN
from callboard.actors.entities.entity import Entity
from callboard.backends.log import Log
from callboard.messages.entities.entity_mail import EntityCommand, EntityCommands, EntityOutcome
from callboard.messages.entities.entity_messages import EntityCommitMessage
from callboard.messages.event import replaced
from callboard.messages.reading import Unread, read

ASK_S = 30.0
"""Seconds for the answer to a command; then it is sent again."""

READ_MAX = 2000
"""Records that are searched at once."""


@dataclass(slots=True)
class Search:
    """A search through the topic of entities for commits of commands, by their ids."""

    commands: dict[str, EntityCommand] = field(default_factory=dict)
    found: "asyncio.Task[dict[str, EntityOutcome]] | None" = None


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
        self._running: dict[str, asyncio.Task[dict[str, EntityOutcome]]] = {}

    async def __call__(self, effect: AskEntity) -> EntityOutcome:
        """What became of the command. Raises as ``Agent.ask`` and ``Log.read``."""
        outcome = await self._ask(effect.entity, effect.command)
        if outcome.code != FORGOTTEN:
            return outcome
        topic = self._topic(effect.entity)
        if (await self._log.bounds(topic)).first > ORIGIN:
            return replaced(outcome, problem=f"{outcome.problem}; the first records of {topic} were removed")
        if (made := (await self._search(topic, effect.command)).get(effect.command.command_id)) is not None:
            return made
        return await self._ask(effect.entity, replaced(effect.command, is_old=False))

    async def _ask(self, entity: type[Entity], command: EntityCommand) -> EntityOutcome:
        agent = await self._keeper(entity)
        return (await agent.ask(roles.KEEPER, EntityCommands(commands=(command,)), self._ask_s)).outcomes[0]

    async def _search(self, topic: str, command: EntityCommand) -> dict[str, EntityOutcome]:
        """Search with all others that ask now, after the search that is under way."""
        search = self._next.setdefault(topic, Search())
        search.commands[command.command_id] = command
        if search.found is None:
            search.found = asyncio.create_task(self._found(topic, search))
        return await asyncio.shield(search.found)

    async def _found(self, topic: str, search: Search) -> dict[str, EntityOutcome]:
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
        return found
