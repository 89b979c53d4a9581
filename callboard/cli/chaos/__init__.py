"""``callboard chaos``: strikes a fleet of real processes in every known way, and compares the content at the end."""

import asyncio
import shutil
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from callboard.actors.runtime import Runtime
from callboard.cli.chaos.places import On
from callboard.cli.terminal.log_setup import configure_logging
from callboard.cli.terminal.output import show, show_drawn
from callboard.errors import RequestRefused

SHOWN = 20
"""Differences shown; a single one is a failure."""


def chaos(
    on: Annotated[On, typer.Option(help="The log; its server is started for the run, and fails too.")] = On.SQLITE,
    subscribers: Annotated[int, typer.Option(min=1, max=100, help="Number of subscribers.")] = 6,
    minutes: Annotated[float, typer.Option(min=0.01, help="How long to inject faults.")] = 1.0,
    seed: Annotated[int, typer.Option(help="Seed of edits and faults; timing still depends on the machine.")] = 1,
    runtime: Annotated[Runtime, typer.Option(help="A process for each actor, or all in one.")] = "processes",
    keep: Annotated[Path | None, typer.Option(help="Work in this empty folder, and keep it.")] = None,
) -> None:
    """Run a fleet under faults of processes, server, network, disk and descriptors, and compare every byte."""
    from callboard.cli.chaos.run import run  # takes a while, and no other command needs it
    from callboard.cli.terminal.screen import notices

    console = notices()
    configure_logging("critical")
    folder = (keep or Path(tempfile.mkdtemp(prefix="callboard-chaos-"))).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise RequestRefused(f"{folder} is not empty; name another folder with --keep", code="exists")
    names = [f"edge-{number}" for number in range(1, subscribers + 1)]
    try:
        outcome = asyncio.run(run(on, names, minutes * 60, seed, runtime, folder, console))
    finally:
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)
    for difference in outcome.differences[:SHOWN]:
        console.print(difference)
    show_drawn(outcome.recoveries.table(f"{on.value}, {subscribers} subscribers, {minutes:g} minutes"))
    show(str(outcome))
    if not outcome.good:
        raise typer.Exit(1)
