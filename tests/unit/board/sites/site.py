"""Real boards of a centre and a site with a relay and two subscribers, and another board that only looks."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from callboard import Callboard, Package, Publishing, SitePlace, SiteStatus, Subscriber, SubscriberStatus

DEADLINE_S = 30.0


async def relay_row(board: Callboard, met: Callable[[SubscriberStatus], bool]) -> SubscriberStatus:
    async with asyncio.timeout(DEADLINE_S):
        while True:
            rows = [row for row in (await board.status()).subscribers if row.name == "berlin"]
            if rows and met(rows[0]):
                return rows[0]
            await asyncio.sleep(0.05)


class Site:
    """``centre`` knows where the log of the site is, ``blind`` does not; ``edge-2`` is editable."""

    centre: Callboard
    blind: Callboard
    board: Callboard
    relay: Subscriber
    edges: dict[str, Subscriber]

    def __init__(self, folder: Path) -> None:
        self.folder, self.url = folder, f"sqlite:///{folder}/site.db"

    async def publish(self, path: str, content: str, board: Callboard | None = None, **options) -> Package:
        source = self.folder / ("source" if board is None else "local")
        (source / path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        (source / path.lstrip("/")).write_text(content)
        return await (board or self.centre).publisher("local" if board else "main").publish(source, [path], **options)

    async def caught_up(self, *names: str) -> None:
        await self.relay.caught_up(DEADLINE_S)
        for name in names or self.edges:
            await self.edges[name].caught_up(DEADLINE_S)

    async def row(self, met: Callable[[SubscriberStatus], bool], board: Callboard | None = None) -> SubscriberStatus:
        """The relay's row at the centre, once this is so."""
        return await relay_row(board or self.centre, met)

    async def told(self, met: Callable[[SiteStatus], bool]) -> SiteStatus:
        """What the relay says of the site, once it is so."""
        found = await self.row(lambda row: row.site is not None and met(row.site))
        assert found.site is not None
        return found.site

    async def commands(self) -> int:
        return (await self.centre.log.bounds(self.centre.settings.topics.command)).end


@asynccontextmanager
async def site(folder: Path, *, local: int = 0, **options) -> AsyncIterator[Site]:
    """With ``local`` packages that were published at the site, so that its offsets are others than those here."""
    it = Site(folder)
    async with AsyncExitStack() as stack:
        place, log = SitePlace(it.url), f"sqlite:///{folder}/centre.db"
        it.board = await stack.enter_async_context(Callboard(it.url))
        publishing = Publishing(events=("created", "distributed"))
        it.centre = await stack.enter_async_context(Callboard(log, sites={"berlin": place}, publishing=publishing))
        it.blind = await stack.enter_async_context(Callboard(log))
        for number in range(local):
            await it.publish(f"/local/{number}", "of the site", it.board)
        it.relay = it.centre.relay("berlin", it.board, ledger=f"sqlite:{folder}/berlin.ledger", **options)
        await stack.enter_async_context(it.relay)
        it.edges = {
            name: await stack.enter_async_context(it.board.subscriber(name, folder / name, editable=name == "edge-2"))
            for name in ("edge-1", "edge-2")
        }
        await it.publish("/a", "one")
        await it.caught_up()
        yield it


def at_site(folder: Path, scenario: Callable[[Site], Awaitable[None]], **options) -> None:
    async def body() -> None:
        async with site(folder, **options) as it:
            await scenario(it)

    asyncio.run(body())
