"""``callboard demo``: distributes a real tree to a fleet while actors are killed."""

import asyncio
import contextlib
import json
import secrets
import shutil
import sysconfig
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from callboard.actors.runtime import Runtime
from callboard.board.board import Callboard
from callboard.board.connect.settings import BoardSettings
from callboard.cli.demo.fleet import Fleet
from callboard.cli.demo.incidents import SETTINGS
from callboard.cli.demo.play import Outcome, Play, copy_source
from callboard.cli.demo.progress import Progress
from callboard.cli.terminal.log_setup import configure_logging
from callboard.cli.terminal.output import show
from callboard.door.addresses import LOOPBACK
from callboard.errors import CallboardError, RequestRefused

if TYPE_CHECKING:
    from rich.console import Console

CONFIGURATION = """\
log = {log}
blobs = {blobs}
prefix = {prefix}
runtime = "{runtime}"

[logging]
level = "debug"
format = "json"

{subscribers}"""
"""For the demo's processes, whose logs show what they run."""
REFRESH_S = 0.4
LINE_S = 5.0
DIFFERENCES_SHOWN = 20


def demo(
    source: Annotated[Path | None, typer.Option(help="The folder to distribute; default: Python's library.")] = None,
    edits: Annotated[int, typer.Option(min=3, help="How many edits to publish after the tree.")] = 150,
    seed: Annotated[int, typer.Option(help="The same seed makes the same edits.")] = 1,
    keep: Annotated[Path | None, typer.Option(help="Work in this empty folder, and keep it.")] = None,
    log: Annotated[str, typer.Option(metavar="URL", help="The log to distribute through.")] = "sqlite:///./board.db",
    blobs: Annotated[str, typer.Option(metavar="URL", help="The blob store, for large content.")] = "./blobs",
    runtime: Annotated[Runtime, typer.Option(help="A process for each actor, or all in one.")] = "processes",
    console_port: Annotated[
        int | None, typer.Option("--console", metavar="PORT", min=0, max=65535, help="Serve the console meanwhile.")
    ] = None,
) -> None:
    """Distribute a real tree to six subscribers while actors are killed, and compare every byte."""
    from callboard.cli.terminal.screen import notices

    console = notices()
    configure_logging("error")
    started = time.monotonic()
    root = source or Path(sysconfig.get_paths()["stdlib"])
    if not root.is_dir():
        raise RequestRefused(f"{root} is not a folder; name one with --source", code="not_found")
    folder = keep or Path(tempfile.mkdtemp(prefix="callboard-demo-"))
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise RequestRefused(f"{folder} is not empty; name another folder with --keep", code="exists")
    temporary = Path(tempfile.mkdtemp(prefix="cb-"))  # for all its processes; a short path, for sockets
    try:
        place = BoardSettings(log, blobs, folder.resolve(), f"demo-{secrets.token_hex(4)}")
        fleet = Fleet(place.base, place.base / "source", temporary)
        outcome = asyncio.run(_play(root.resolve(), place, fleet, edits, seed, runtime, console, console_port))
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)
    for difference in outcome.differences[:DIFFERENCES_SHOWN]:
        console.print(difference)
    console.print(f"took {time.monotonic() - started:.0f} s")
    show(*outcome.summary().splitlines())
    show(str(outcome))
    if not outcome.good:
        raise typer.Exit(1)


async def _play(
    root: Path,
    place: BoardSettings,
    fleet: Fleet,
    edits: int,
    seed: int,
    runtime: str,
    console: "Console",
    port: int | None,
) -> Outcome:
    folder = place.base
    console.print(f"copying {root} to {folder}")
    source = folder / "source"
    await asyncio.to_thread(copy_source, root, source)
    (folder / "callboard.toml").write_text(_configuration(place, runtime))
    progress = Progress()
    async with (
        Callboard(place.log, blobs=place.blobs, base=folder, prefix=place.prefix) as board,
        nullcontext() if port is None else _console(board, port),
    ):
        watching = asyncio.create_task(_watch(board, progress, console))
        try:
            return await Play(board, fleet, folder, source, edits, seed, progress).run()
        finally:
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watching
            await asyncio.to_thread(fleet.stop)


@contextlib.asynccontextmanager
async def _console(board: Callboard, port: int) -> AsyncIterator[None]:
    """Serve the console of the board on this host."""
    from callboard.http_server import Server
    from callboard.web.app import board_app, watched

    async with watched(board):
        server = Server(board_app(board, allow_actions=True), (LOOPBACK, port), streams=True)
        await server.start()
        show(f"the console is at http://{LOOPBACK}:{server.port}/")
        try:
            yield
        finally:
            await server.stop()


def _configuration(place: BoardSettings, runtime: str) -> str:
    """The configuration of the demo's processes; its topics are its own, so that it can share a server."""
    texts = {"log": place.log, "blobs": place.blobs, "prefix": place.prefix}
    quoted = {name: json.dumps(text) for name, text in texts.items()}
    return CONFIGURATION.format(runtime=runtime, subscribers=SETTINGS, **quoted)


async def _watch(board: Callboard, progress: Progress, console: "Console") -> None:
    """Keep the status current, and show it: a live table on a terminal, else a line now and then."""
    from rich.live import Live

    from callboard.cli.demo.table import draw, line

    if not console.is_terminal:
        shown_s, shown = 0.0, 0
        while True:
            await _refresh(board, progress)
            for news in progress.news[shown:]:
                console.print(news)
            shown = len(progress.news)
            if time.monotonic() - shown_s >= LINE_S:
                shown_s = time.monotonic()
                console.print(line(progress.status, progress.doing), soft_wrap=True)
            await asyncio.sleep(REFRESH_S)
    with Live(console=console, auto_refresh=False) as live:
        while True:
            await _refresh(board, progress)
            live.update(draw(progress.status, progress.doing, progress.news), refresh=True)
            await asyncio.sleep(REFRESH_S)


async def _refresh(board: Callboard, progress: Progress) -> None:
    with contextlib.suppress(CallboardError):  # the next look will do
        progress.status = await board.status()
