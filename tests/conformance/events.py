"""Distributed events on a log, in real time, as every log must support them. Speed is not asserted."""

import asyncio
import uuid
from pathlib import Path
from typing import Any

from callboard import Callboard, DistributedEvent, Listener, Retention
from callboard.backends.log import Capability
from callboard.messages.topics import broadcast_topic

PATIENCE_S = 60.0
"""Far beyond what anything here takes, so that only a defect meets it."""

EVENTS = 50


async def numbers(listener: Listener, many: int) -> list[Any]:
    return [(await anext(listener)).properties["n"] for _ in range(many)]


async def listeners_get_every_event_and_go_on_where_they_were(url: str, folder: Path) -> None:
    prefix = f"checked-{uuid.uuid4().hex[:12]}"

    def opened() -> Callboard:
        return Callboard(url, blobs="./blobs", base=folder, prefix=prefix)

    async with asyncio.timeout(PATIENCE_S), opened() as one, opened() as another:
        other = one if url == "memory:" else another
        async with one.events.listen() as here, other.events.listen("a/**", name="there") as there:
            published = [
                *await asyncio.gather(*(one.events.publish("a/b", {"n": n}) for n in range(EVENTS))),
                *await asyncio.gather(*(other.events.publish("a/c", {"n": EVENTS + n}) for n in range(EVENTS))),
            ]
            assert sorted(await numbers(here, 2 * EVENTS)) == list(range(2 * EVENTS))
            assert sorted(await numbers(there, 2 * EVENTS)) == list(range(2 * EVENTS))
        for n in range(3):
            await one.events.publish("a/b", {"n": n})
        async with other.events.listen("a/**", name="there") as again:
            assert await numbers(again, 1) == [0]
        assert [each.behind > 0 for each in await one.events.listeners()] == [True]
        done = asyncio.Event()

        async def handle(event: DistributedEvent) -> None:
            if event.properties["n"] == 2:
                done.set()

        async with other.events.listen("a/**", name="there") as last:
            task = asyncio.create_task(last.run(handle))
            await done.wait()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        found = await other.events.find(after=published[-1].cursor)
        assert [event.properties["n"] for event in found][-3:] == [0, 1, 2]
        if Capability.TRIM in one.log.capabilities:
            topic = broadcast_topic(prefix)
            end = (await one.log.bounds(topic)).end
            await one.trim(Retention(older_than_s=0))
            assert await one.log.bounds(topic) == (end, end)
        await one.events.publish("a/b", {"n": 4})
        async with one.events.listen("a/**", name="there") as once_more:
            assert (await numbers(once_more, 1))[0] in (2, 4)
