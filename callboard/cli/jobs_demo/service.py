"""A worker of the demo, as a process of its own, and its jobs."""

import asyncio
import hashlib
import lzma
from pathlib import Path

from callboard.actors.runtime.actor_system.leash import die_with_parent
from callboard.board.board import Callboard
from callboard.board.jobs.functions.registry import JobRegistry
from callboard.cli.terminal.log_setup import configure_logging

LOG = "sqlite:///./jobs.db"
SLOTS = 2

jobs = JobRegistry()


@jobs.job("file/digest")
def digest(paths: list[str]) -> int:
    """Write the digest of a file to another one; returns its size when it is compressed."""
    source, target = paths
    data = Path(source).read_bytes()
    Path(target).write_text(f"{hashlib.sha256(data).hexdigest()}  {source}\n")
    return len(lzma.compress(data))


@jobs.job("tree/manifest")
def manifest(folder: str) -> int:
    """Put all digests into one file; returns how many there are."""
    digests = sorted(path.read_text() for path in Path(folder).glob("*.digest"))
    Path(folder, "manifest").write_text("".join(digests))
    return len(digests)


@jobs.job("tree/count")
def count(folder: str) -> int:
    """How many digests there are so far."""
    return len(list(Path(folder).glob("*.digest")))


def serve(folder: Path, name: str) -> None:
    """Run until killed, at the latest with the demo."""
    die_with_parent()
    configure_logging("error")
    asyncio.run(_serve(folder, name))


async def _serve(folder: Path, name: str) -> None:
    async with (
        Callboard(LOG, base=folder) as board,
        board.jobs.worker(jobs, slots=SLOTS, instance=name, profile="fast"),
    ):
        await asyncio.Event().wait()
