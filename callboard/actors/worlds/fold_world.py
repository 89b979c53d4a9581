"""Carries out what an actor asks of the store of its fold, and of the log."""

from collections.abc import Awaitable, Callable
from typing import Any

from callboard.actors.core.agent import World
from callboard.actors.core.decision import Perform
from callboard.actors.core.fold_effects import ClearFold, LoadFold, PublishFold, RebuildFold, SaveFold, ScanFold
from callboard.actors.entities.asking import AskEntity
from callboard.backends.fold_store import FoldStore
from callboard.errors import ConfigError
from callboard.messages.entities.entity_mail import EntityOutcome


class FoldWorld:
    """See ``World``.

    Args:
        world: carries out what is not about the fold.
        store: keeps the fold; None for one that is only in memory.
        ask: sends a command to an entity.
    """

    def __init__(
        self, world: World, store: FoldStore | None, ask: Callable[[AskEntity], Awaitable[EntityOutcome]]
    ) -> None:
        self._world, self._store, self._ask = world, store, ask

    async def perform(self, effect: Perform) -> Any:
        """The result that the effect's description promises."""
        if isinstance(effect, AskEntity):
            return await self._ask(effect)
        if isinstance(effect, LoadFold | ScanFold | SaveFold | ClearFold | PublishFold | RebuildFold):
            if self._store is None:
                raise ConfigError("this fold has no store")
            return await _kept(self._store, effect)
        return await self._world.perform(effect)

    async def close(self) -> None:
        """Release the store and the other world."""
        if self._store is not None:
            await self._store.close()
        await self._world.close()


async def _kept(store: FoldStore, effect: Perform) -> Any:
    match effect:
        case LoadFold(keys=keys):
            return await store.load(keys)
        case ScanFold(table=table, after=after, limit=limit):
            return await store.scan(table, after, limit)
        case SaveFold(was=was, mark=mark, rows=rows):
            return await store.save(was, mark, rows)
        case ClearFold(was=was):
            return await store.clear(was)
        case PublishFold():
            await store.publish()
        case RebuildFold():
            await store.rebuild()
    return None
