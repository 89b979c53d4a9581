"""Opens what the agents of entities, projections and reactions need, in any process."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from callboard.actors.core.agent import Agent, World
from callboard.actors.core.decision import Perform
from callboard.actors.entities.entity import Entity
from callboard.actors.entities.projections import ProjectorSettings
from callboard.actors.entities.projections.table_rows import fold_of
from callboard.actors.entities.settings import HELD_MAX
from callboard.actors.entities.snapshot import snapshots
from callboard.actors.worlds.asker import Asker
from callboard.actors.worlds.fold_world import FoldWorld
from callboard.actors.worlds.log_world import LogWorld
from callboard.backends.address import without_passwords
from callboard.backends.fold_store import Fold
from callboard.backends.fold_stores import open_fold_store
from callboard.backends.log import Log
from callboard.board.connect.resources import Resources
from callboard.board.connect.settings import BoardSettings
from callboard.door.actors.entities import entity_name
from callboard.messages.topics import entity_topic


@dataclass(frozen=True, slots=True)
class EntityOptions:
    """How a service keeps the entities of a class: where its snapshots are, if anywhere, how many entities stay in
    memory then, and whether it runs the tasks of processes.
    """

    snapshots: str = ""
    in_memory: int = HELD_MAX
    runs: bool = True


@dataclass(frozen=True, slots=True)
class FoldPlaceOf:
    """What an agent keeps, and where; nowhere if ``where`` is empty."""

    where: str
    fold: Fold


def kept(entity: type[Entity], topic: str, where: str, settings: BoardSettings) -> FoldPlaceOf:
    """The snapshots of the entities of a class; those of another log are others."""
    return FoldPlaceOf(where, snapshots(entity, topic, without_passwords(settings.log)))


def projected(settings: ProjectorSettings, where: str) -> FoldPlaceOf:
    """The rows of a projection, or the places of a reaction."""
    return FoldPlaceOf(where, fold_of(settings))


def shared_world(log: Log, settings: BoardSettings, place: FoldPlaceOf, keeper: "Keepers") -> World:
    """The world of an embedded agent, which shares the board's log."""
    store = open_fold_store(place.where, settings.base, place.fold) if place.where else None
    return FoldWorld(LogWorld(log), store, Asker(log, partial(topic_of, settings.prefix), keeper))


def topic_of(prefix: str, entity: type[Entity]) -> str:
    """The topic of the entities of a class."""
    return entity_topic(entity_name(entity), prefix)


Keepers = Callable[[type[Entity]], Awaitable[Agent]]
"""The agent that keeps the entities of a class."""


class Keeping(Protocol):
    """Agents that keep entities."""

    async def keeper_of(self, entity: type[Entity]) -> Agent:
        """The one that keeps the entities of this class."""
        ...

    async def close(self) -> None:
        """Stop all of them."""
        ...


async def open_world(settings: BoardSettings, place: FoldPlaceOf, agents: Callable[[Resources], Keeping]) -> World:
    """The world of an actor in its own process, which opens the log, and keeps the entities that it asks."""
    async with AsyncExitStack() as stack:
        resources = Resources(settings, create=False)
        stack.push_async_callback(resources.close)
        await resources.open()
        keeping = agents(resources)
        stack.push_async_callback(keeping.close)
        world = shared_world(resources.log, settings, place, keeping.keeper_of)
        return OwnedWorld(world, stack.pop_all())


class OwnedWorld:
    """A world, and what is closed with it."""

    def __init__(self, world: World, stack: AsyncExitStack) -> None:
        self._world, self._stack = world, stack

    async def perform(self, effect: Perform) -> Any:
        """See ``World``."""
        return await self._world.perform(effect)

    async def close(self) -> None:
        """See ``World``."""
        await self._world.close()
        await self._stack.aclose()
