"""A service with something of everything on its board, which it serves on a port: ``python service.py FOLDER``.

It prints the port when all is there, and ends when its standard input does.
"""

import asyncio
import sys
from contextlib import AsyncExitStack
from pathlib import Path

from callboard import Callboard, CancelJob
from callboard.actors.core.backoff import Backoff
from callboard.http_server import Server
from callboard.web import board_app
from examples.bank.bank import Account, Deposit

DEADLINE_S = 60.0
ONCE = {"editable": True, "max_retries": 0, "retry": Backoff(first_s=0.01, max_s=0.01)}


async def refuse(_: object) -> None:
    """A hook that lets nothing in."""
    raise OSError("the disk is full")


def send(mail: dict[str, str]) -> str:
    """A job that succeeds."""
    return f"sent to {mail['to']}"


def fail() -> None:
    """A job that does not."""
    raise CancelJob("there is no such address")


async def main(folder: Path) -> None:
    """Make the content, and serve it."""
    async with AsyncExitStack() as stack:
        board = await stack.enter_async_context(Callboard("sqlite:///./board.db", base=folder))
        await fleet(board, folder, stack)
        await work(board, stack)
        for number in range(3):
            await board.events.publish("shop/price", {"cents": number})
        async with board.events.listen("shop/*", name="prices", oldest=True) as events:
            await anext(aiter(events))
        await board.entities(Account).send("alice", Deposit(cents=5))
        await settled(board)
        server = Server(board_app(board), ("127.0.0.1", 0), streams=True)
        await server.start()
        sys.stdout.write(f"{server.port}\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)
        await server.stop()


async def fleet(board: Callboard, folder: Path, stack: AsyncExitStack) -> None:
    """A publisher, one subscriber that has everything, one that is stuck, and one that gave up."""
    site = folder / "site"
    (site / "blog").mkdir(parents=True)
    (site / "index.html").write_text("the first night")
    publisher = board.publisher("main")
    agent = await publisher.start()
    stack.push_async_callback(agent.stop, 1)
    await publisher.publish(site, user="ada")
    good = await stack.enter_async_context(board.subscriber("good", folder / "good", editable=True))
    await good.caught_up(DEADLINE_S)
    for name, then in (("stuck", "block"), ("careless", "skip")):
        its = board.subscriber(name, folder / name, before_import=refuse, on_give_up=then, **ONCE)
        await stack.enter_async_context(its)
    (site / "blog" / "a.html").write_text("another page")
    await publisher.publish(site, ["/blog"], full=True, user="ben")
    await publisher.delete(["/blog/a.html"])


async def work(board: Callboard, stack: AsyncExitStack) -> None:
    """Jobs in several states, a worker, a queue and a schedule."""
    worker = board.jobs.worker({"mail/send": send, "fail": fail}, instance="worker-1")
    await stack.enter_async_context(worker)
    done = await board.jobs.add("mail/send", {"to": "ann", "size": 3}, title="a mail")
    failed = await board.jobs.add("fail")
    for each in (done, failed):
        await board.jobs.wait(each.id, DEADLINE_S)
    await board.jobs.add("nobody/runs", b"\0\1", delay_s=3600, lane="one")
    await board.jobs.configure("mails", ["mail/**"], parallel=2)
    await board.jobs.schedule("nightly", "mail/send", {"to": "bob"}, cron="30 3 * * *", zone="Europe/Berlin")


async def settled(board: Callboard) -> None:
    """Wait until each has announced what became of it."""
    async with asyncio.timeout(DEADLINE_S):
        while True:
            rows = {row.name: row for row in (await board.status()).subscribers}
            events = [event.kind async for event in board.events(after=-1, follow=False)]
            stuck, gave_up = rows["stuck"].state == "blocked", rows["careless"].errors == 3
            if stuck and gave_up and "failed" in events and await board.folds() and await board.topology.view():
                return
            await asyncio.sleep(0.05)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
