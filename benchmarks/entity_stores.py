"""The entities that entities.py measures, and the bare log below them, for a number of callers at once.

A command adds an event with a note of 200 characters to an entity, whose state is the number of notes.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from callboard import Callboard
from callboard.actors import Entity, Event, Facts, event
from callboard.messages.record import NewRecord
from callboard.messages.topics import entity_topic

NOTE = "0123456789" * 20

Step = Callable[[int], Awaitable[object]]
"""One command of the caller with this number."""


@event("notes.add", version=1)
class Add(Event):
    """Add a note."""

    text: str


@event("notes.added", version=1)
class Added(Event):
    """A note was added."""

    text: str


@event("notes.notebook", version=1)
class Notebook(Entity):
    """Counts its notes."""

    notes: int = 0

    def decide(self, command: Event, facts: Facts) -> Sequence[Event]:
        """See ``Entity``."""
        del facts
        assert isinstance(command, Add)
        return (Added(text=command.text),)

    def evolve(self, event: Event) -> "Notebook":
        """See ``Entity``."""
        del event
        return Notebook(notes=self.notes + 1)


async def closed_loop(step: Step, callers: int, seconds: float) -> float:
    """Commands a second of callers that each wait for one before the next; the first of each is not counted."""
    await asyncio.gather(*map(step, range(callers)))
    begun = time.perf_counter()

    async def caller(number: int) -> int:
        done = 0
        while time.perf_counter() < begun + seconds:
            await step(number)
            done += 1
        return done

    return sum(await asyncio.gather(*map(caller, range(callers)))) / (time.perf_counter() - begun)


class Boards:
    """callboard, on the log at this URL; every measurement has a prefix, or a folder, of its own."""

    def __init__(self, url: str, folder: Path) -> None:
        self._url, self._folder, self._number = url, folder, 0

    async def _use(self, use: Callable[[Callboard], Awaitable[Any]]) -> Any:
        self._number += 1
        base = self._folder / str(self._number)
        base.mkdir()
        blobs: Any = {"blobs": "./blobs"} if self._url.startswith("postgresql:") else {}
        async with Callboard(self._url, base=base, prefix=f"notes{self._number}", **blobs) as board:
            return await use(board)

    def commands(self, measure: Callable[[Step], Awaitable[Any]]) -> Any:
        """What ``measure`` returns for commands to entities."""

        async def use(board: Callboard) -> Any:
            notebooks = board.entities(Notebook)
            return await measure(lambda number: notebooks.send(f"notebook-{number}", Add(text=NOTE)))

        return asyncio.run(self._use(use))

    def appends(self, measure: Callable[[Step], Awaitable[Any]]) -> Any:
        """The same for appends of the bytes that such a command leaves on the log, and nothing else."""

        async def use(board: Callboard) -> Any:
            await board.entities(Notebook).send("notebook-1", Add(text=NOTE))
            log, topic = board.context.log, entity_topic("notes.notebook", board.context.settings.prefix)
            written = (await log.read(topic, (await log.bounds(topic)).first))[0]
            record = NewRecord(payload=written.payload, headers=written.headers)
            await log.ensure("bare")  # nobody follows it
            return await measure(lambda _: log.append("bare", [record]))

        return asyncio.run(self._use(use))
