"""Boards in one folder, and relays between them."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from callboard import Callboard
from callboard.board.subscriber import Subscriber
from callboard.messages.record import Record

DEADLINE_S = 60.0
QUICK: dict[str, Any] = {"announce_interval_s": 0.5, "claim_ttl_s": 2.0}


def run(work: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(DEADLINE_S):
            await work

    asyncio.run(limited())


@asynccontextmanager
async def boards(folder: Path, *names: str) -> AsyncIterator[Sequence[Callboard]]:
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(Callboard(f"sqlite:///./{name}.db", base=folder)) for name in names
        ]


def relay(centre: Callboard, site: Callboard, name: str = "site", ledger: str = "", **options: Any) -> Subscriber:
    return centre.relay(name, site, ledger=f"sqlite:{ledger or name}.ledger", **QUICK | options)


async def packages(board: Callboard) -> list[Record]:
    topic = board.settings.topics.package
    return await board.log.read(topic, (await board.log.bounds(topic)).first)
