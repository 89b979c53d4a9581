"""A board on which there is something of everything, so that it has all metrics but a few."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from callboard import Callboard
from callboard.backends.logs.signed_log import Ignored
from callboard.board.publisher import Publisher
from callboard.board.read.status.families import exposed, single
from callboard.board.read.status.metrics import board_metrics
from callboard.board.views import BoardStatus
from callboard.messages.signing import SigningKey
from tests.examples.worlds import stock

KEY = SigningKey("here", b"k" * 32)
DEADLINE_S = 60.0


@asynccontextmanager
async def everything(folder: Path) -> AsyncIterator[tuple[Callboard, Publisher]]:
    """A publisher, a subscriber, a site with another, jobs and a worker, a listener, and folds of each kind."""
    (folder / "site").mkdir()
    (folder / "site" / "index.html").write_text("welcome")
    board = Callboard("memory:", base=folder, signing_key=KEY, trusted_keys=(KEY,))
    async with asyncio.timeout(DEADLINE_S), board, AsyncExitStack() as stack:
        site = board.publisher("site")
        await site.publish(folder / "site")
        async with board.subscriber("edge-1", folder / "out", editable=True) as edge:
            await edge.caught_up()
            berlin = await stack.enter_async_context(Callboard("sqlite:///./berlin.db", base=folder))
            await stack.enter_async_context(berlin.subscriber("edge-2", folder / "there"))
            await stack.enter_async_context(board.relay("berlin", berlin, ledger="sqlite:berlin.ledger"))
            while not any(row.site and row.site.subscribers for row in (await board.status()).subscribers):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            async with board.jobs.worker({"mail": lambda: None}, instance="one"), board.events.listen(name="late"):
                await board.jobs.wait((await board.jobs.add("mail")).id)
                await board.events.publish("a")
                await fold(board)
                yield board, site


async def fold(board: Callboard) -> None:
    """Entities, processes, a projection and a reaction, once all have announced how far they are."""
    await board.projection(stock.Availabilities, into="sqlite:rows.db").start()
    await board.reaction(stock.FillUp, into="sqlite:rows.db").start()
    await board.entities(stock.Shelf).send("cup", stock.Receive(pieces=9))
    await board.entities(stock.Order).send("a", stock.Place(sku="cup", pieces=1, pay_within_s=60))
    wanted = {"entities", "process", "projection", "reaction"}
    while {each.kind for each in await board.folds()} != wanted:  # noqa: ASYNC110 - until all have announced themselves
        await asyncio.sleep(0.05)


async def exposed_by(board: Callboard) -> str:
    """The metrics of the board, and those few that a healthy one does not have."""
    found = await board.topology.view()
    members = tuple(replace(member, lag_s=1.0) for member in found.members)
    cluster = replace(found, members=members, refused={"lease_runs": 1})
    seldom = board_metrics(BoardStatus((), ()), {}, {}, (), {"callboard.status": Ignored(1)}, cluster)
    known = {"callboard_cluster_refused", "callboard_cluster_member_lag_seconds", "callboard_untrusted_records"}
    problem = single("jobs_problem", "1 while jobs cannot be read.", 1)
    return await board.metrics() + exposed([*(each for each in seldom if each.name in known), *problem])
