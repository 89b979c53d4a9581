"""The web console of a fleet of 1,000 subscribers: how fast its first page is, and what it costs the service it is in.

Usage: ``python benchmarks/console.py [--quick]``, 2 minutes; a quick one has fewer rounds. First paint needs Chromium.

Publisher, board and console share one event loop, as in a service that mounts the console: the hardest case. Those who
look are another process, which reads what comes and draws nothing. Half of the subscribers are behind, and a
twentieth is blocked. The delay of a package is that of ``publish``, 20 a second, of which every one makes all pages
change; rounds with a hundred open pages and without the console alternate.
"""

import asyncio
import multiprocessing
import shutil
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from playwright.async_api import async_playwright
from report import Report, quick
from starlette.applications import Starlette

from callboard import Callboard
from callboard.http_server import Server
from callboard.messages.distribution.topic_messages import DiscoveryMessage, State, SubscriberConfiguration
from callboard.messages.headers import new_record
from callboard.web import User
from callboard.web.console.page import Question
from callboard.web.console.pages.table import PAGES
from callboard.web.console.routes import console_routes, draw_page
from callboard.web.console.watch import Watch

SUBSCRIBERS, PACKAGES, LOOKERS = 1000, 200, 100
PER_S, SECONDS = 20, 4 if quick() else 8
ROUNDS = 1 if quick() else 3
DRAWINGS, PAINTS = 50, 5

SAME = ["/live/"] * LOOKERS
DIFFERENT = [f"/live/?sort=name&n={number}" for number in range(LOOKERS)]


async def announce(board: Callboard) -> None:
    log_id, now_ns = await board.log.identity(board.settings.topics.package), time.time_ns()
    own = SubscriberConfiguration(editable=True, max_retries=-1, repository="/srv/site")
    records = []
    for number in range(SUBSCRIBERS):
        blocked = number % 20 == 0
        said = DiscoveryMessage(
            subscriber=f"edge-{number:04}", subscriber_instance=f"i-{number}", configuration=own, log_id=log_id,
            state=State.BLOCKED if blocked else State.IDLE, reason="the disk is full" if blocked else "",
            offset=number % PACKAGES if number % 2 else PACKAGES, time_ns=now_ns, announce_interval_ms=300_000,
        )  # fmt: skip
        producer = f"{said.subscriber}/{said.subscriber_instance}"
        records.append(new_record(said, record_id=board.context.new_id(), time_ns=now_ns, producer=producer))
    await board.log.append(board.settings.topics.discovery, records)


@asynccontextmanager
async def console(board: Callboard) -> AsyncIterator[int]:
    """The port of a console of this board."""
    watch = Watch(board)
    server = Server(Starlette(routes=console_routes(board, watch, allow_actions=False)), ("127.0.0.1", 0), streams=True)
    await server.start()
    try:
        yield server.port
    finally:
        await server.stop()
        await watch.stop()


def look(port: int, paths: list[str], pipe: Connection) -> None:
    """Have these pages open until the pipe closes."""

    async def one(path: str, opened: asyncio.Semaphore) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        await reader.readuntil(b"event: page")
        opened.release()
        while await reader.read(1 << 20):
            pass

    async def all_of_them() -> None:
        opened = asyncio.Semaphore(0)
        tasks = [asyncio.create_task(one(path, opened)) for path in paths]
        for _ in paths:
            await opened.acquire()
        pipe.send(True)
        await asyncio.to_thread(pipe.recv)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(all_of_them())


@asynccontextmanager
async def lookers(port: int, paths: list[str]) -> AsyncIterator[None]:
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=look, args=(port, paths, theirs))
    process.start()
    await asyncio.to_thread(ours.recv)
    try:
        yield
    finally:
        ours.send(False)
        await asyncio.to_thread(process.join)


async def drawn_ms(board: Callboard) -> list[float]:
    """The time on the server of the first page, from a reading of the board to HTML."""
    watch = Watch(board)
    asked = Question(board, await watch.now(), User("", "viewer"))
    took = []
    for _ in range(DRAWINGS + 1):
        began = time.perf_counter()
        status, _ = await draw_page(PAGES[0], asked, asyncio.Semaphore())
        took.append((time.perf_counter() - began) * 1000)
        assert status == 200
    await watch.stop()
    return took[1:]


async def painted_ms(port: int) -> list[float]:
    """From the navigation to the first paint in Chromium, with an empty cache."""
    took, path = [], shutil.which("chromium")
    if path is None:
        print("Chromium is not installed, so the first paint is not measured")
        return []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-gpu"])
        for _ in range(PAINTS + 1):
            context = await browser.new_context(viewport={"width": 1440, "height": 900})
            page = await context.new_page()
            await page.goto(f"http://127.0.0.1:{port}/")
            await page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
            took.append(await page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
            await context.close()
        await browser.close()
    return took[1:]


async def share() -> float:
    """How much of a core this process uses."""
    began, spent_s = time.monotonic(), time.process_time()
    await asyncio.sleep(SECONDS)
    return (time.process_time() - spent_s) / (time.monotonic() - began)


async def published_ms(board: Callboard) -> list[float]:
    """The delays of packages that are published at an even pace, sorted."""
    publisher, took = board.publisher("site"), []
    for number in range(PER_S * SECONDS):
        began = time.perf_counter()
        await publisher.invalidate([f"/{number}"])
        took.append((time.perf_counter() - began) * 1000)
        await asyncio.sleep(max(0.0, 1 / PER_S - took[-1] / 1000))
    return sorted(took)


async def measured(folder: Path, report: Report) -> None:
    async with Callboard(f"sqlite:///{folder / 'log'}") as board:
        for number in range(PACKAGES):
            await board.publisher("site").invalidate([f"/{number}"])
        await announce(board)
        fleet = f"{SUBSCRIBERS} subscribers"
        report.row(f"the first page of {fleet}, on the server", await drawn_ms(board), unit="ms", note="goal 20")
        async with console(board) as port:
            if paints := await painted_ms(port):
                report.row(f"its first paint in Chromium, {fleet}", paints, unit="ms", note="goal 300")
        rest = [await share() for _ in range(ROUNDS)]
        report.row("the board alone", rest, unit="cores")
        for paths, what in ((SAME, f"{LOOKERS} who have it open"), (DIFFERENT, f"{LOOKERS} with different pages")):
            async with console(board) as port, lookers(port, paths):
                used = [await share() for _ in range(ROUNDS)]
            report.row(f"the board, and {what}", used, rest, unit="cores", peer_name="alone", note="goal 0.2")
        alone, beside = list[list[float]](), list[list[float]]()
        for _ in range(ROUNDS):
            alone.append(await published_ms(board))
            async with console(board) as port, lookers(port, SAME):
                beside.append(await published_ms(board))
        for part in (0.5, 0.99):
            ours, peer = ([each[int(len(each) * part)] for each in them] for them in (beside, alone))
            report.row(f"{part:.0%} published within, beside the console", ours, peer, unit="ms", peer_name="without",
                       note=f"{LOOKERS} who look, on one event loop; less is better")  # fmt: skip


def main() -> None:
    report = Report("console")
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(measured(Path(folder), report))
    report.write()


if __name__ == "__main__":
    main()
