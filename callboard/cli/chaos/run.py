"""A run of ``callboard chaos`` and its surroundings: folders, servers, environment and display."""

import asyncio
import json
import os
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from random import Random

from rich.console import Console, Group
from rich.live import Live

from callboard.board.board import Callboard
from callboard.cli.chaos.agents import Agents
from callboard.cli.chaos.inventory import MARK, left_files, left_processes
from callboard.cli.chaos.places import On, Place, opened
from callboard.cli.chaos.report import Outcome
from callboard.cli.chaos.storm import Storm
from callboard.cli.terminal.output import text

CONFIGURATION = """\
log = {log}
blobs = "./blobs"
runtime = "{runtime}"

[logging]
level = "warning"
format = "json"
"""
FILES = 30
"""Files in the source at the start; edits add more."""
REFRESH_S = 0.5
LINE_S = 10.0


async def run(
    on: On, names: list[str], seconds: float, seed: int, runtime: str, folder: Path, console: Console
) -> Outcome:
    """Strike for this many seconds, and return the outcome. ``folder`` must be empty; it keeps all files."""
    mark = secrets.token_hex(8)
    home = Path(tempfile.mkdtemp(prefix="cb-"))  # for all its processes; a short path, for sockets
    make_source(folder / "source", seed)
    try:
        with _environment({MARK: mark, "TMPDIR": str(home)}):
            async with opened(on) as place:
                text = CONFIGURATION.format(log=json.dumps(place.url), runtime=runtime)
                (folder / "callboard.toml").write_text(text)
                outcome = await _struck(place, Agents(folder, names), seconds, seed, mark, folder, console)
        orphans, files = await left_processes(mark), left_files(home)
    finally:
        shutil.rmtree(home, ignore_errors=True)
    left = [f"process {orphan} outlived the run" for orphan in orphans]
    left += [f"{name} was left in the temporary folder" for name in files]
    differences = (*outcome.differences, *left)
    return replace(outcome, differences=differences, orphans=len(orphans), files=len(files))


async def _struck(
    place: Place, agents: Agents, seconds: float, seed: int, mark: str, folder: Path, console: Console
) -> Outcome:
    async with Callboard(place.direct, blobs="./blobs", base=folder) as board:
        storm = Storm(board, agents, place, mark, folder, seed)
        watching = asyncio.create_task(_watch(storm, console))
        try:
            return await storm.run(seconds)
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
            await asyncio.to_thread(agents.stop)


async def _watch(storm: Storm, console: Console) -> None:
    """Show a live table on a terminal, else a line now and then."""
    started_s = time.monotonic()
    if not console.is_terminal:
        while True:
            console.print(f"{time.monotonic() - started_s:.0f} s: {_line(storm)}", soft_wrap=True)
            await asyncio.sleep(LINE_S)
    with Live(console=console, auto_refresh=False) as live:
        while True:
            live.update(Group(storm.progress.recoveries.table("callboard chaos"), text(_line(storm))), refresh=True)
            await asyncio.sleep(REFRESH_S)


def _line(storm: Storm) -> str:
    progress = storm.progress
    return f"{progress.doing}; {storm.packages} packages, {len(progress.recoveries.all_s)} recoveries"


def make_source(source: Path, seed: int) -> None:
    """Fill the initial folder, the same for the same seed: small files, some large enough for the blob store."""
    rng = Random(seed)  # noqa: S311 - for variety, not for secrets
    source.mkdir()
    for number in range(FILES):
        folder = source / f"folder-{number % 5}"
        folder.mkdir(exist_ok=True)
        (folder / f"{number}.txt").write_bytes(rng.randbytes(rng.choice((10, 1000, 10_000, 100_000))))


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
