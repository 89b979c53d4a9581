"""``callboard pipeline demo``: archives, trims, loses and restores a log, then analyses it with Spark."""

import asyncio
import shutil
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from callboard.cli.demo.tree import differences
from callboard.cli.terminal.output import show
from callboard.cli.terminal.stage import conclude, stage
from callboard.errors import RequestRefused

if TYPE_CHECKING:
    from callboard.cli.pipeline_demo.history import Past

PARTS = ("asyncio", "email", "html", "http", "json", "logging", "urllib", "xml")
"""Packages of Python's standard library: some hundred files, imported in seconds."""

DIFFERENCES_SHOWN = 20


def demo(
    source: Annotated[
        Path | None, typer.Option(help="The folder to distribute; default: part of Python's own library.")
    ] = None,
    edits: Annotated[int, typer.Option(min=8, help="How many edits to publish after the tree.")] = 60,
    seed: Annotated[int, typer.Option(help="The same seed makes the same edits.")] = 1,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the report.")] = Path("pipeline-demo"),
) -> None:
    """Archive a log, trim it, lose it, restore it; seed subscribers from it, compare every byte, and audit it."""
    from callboard.cli.pipeline_demo.hindsight import look_back
    from callboard.cli.pipeline_demo.history import History
    from callboard.cli.terminal.screen import notices

    with stage("critical") as (folder, tell):  # a subscriber fails on purpose
        work = folder / "source"
        _copy(source, work)
        past = asyncio.run(History(folder, work, edits, seed, tell).run())
        tell("comparing every byte with the source")
        found = [f"{name}: {what}" for name in past.whole for what in differences(work, folder / name)]
        seen = look_back(folder, past, out.absolute(), tell)
    for difference in [*found, *seen.differences][:DIFFERENCES_SHOWN]:
        notices().print(difference)
    wrong = {line.partition(":")[0] for line in found}
    for line in (f"see {seen.report}", *([f"and {seen.picture}"] if seen.picture else [])):
        show(line)
    good = not found and not seen.differences and past.archived_packages == past.packages
    conclude(_last_line(past, len(past.whole) - len(wrong), seen.queues, len(seen.differences)), good=good)


def _last_line(past: "Past", identical: int, queues: int, other: int) -> str:
    return (
        f"pipeline demo: {identical} of {len(past.whole)} subscribers identical to the source, "
        f"{past.packages} packages, {past.archived_packages} archived, {past.trimmed} trimmed, "
        f"{past.restored_packages} restored, {past.from_archive} imported from the archive alone; "
        f"{queues - other} of {queues} queues of the past as they were"
    )


def _copy(source: Path | None, target: Path) -> None:
    """Copy the content to distribute, without caches. Raises ``RequestRefused`` if it is not a folder."""
    ignore = shutil.ignore_patterns("__pycache__", "*.pyc")
    if source is None:
        library = Path(sysconfig.get_paths()["stdlib"])
        for part in PARTS:
            shutil.copytree(library / part, target / part, symlinks=True, ignore=ignore)
        return
    if not source.is_dir():
        raise RequestRefused(f"{source} is not a folder; name one with --source", code="not_found")
    shutil.copytree(source, target, symlinks=True, ignore=ignore)
