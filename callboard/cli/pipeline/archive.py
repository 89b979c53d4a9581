"""``callboard pipeline archive``: ``callboard archive run`` on as many cores as Spark has."""

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from callboard.cli.archive import AcceptHole, Place, loaded_with_place, show_run
from callboard.cli.board import board_settings
from callboard.cli.options import BoardOptions, Json
from callboard.cli.pipeline.jobs import Partitions, run_job

if TYPE_CHECKING:
    from callboard.pipeline.run import Run

FOLLOW_S = 300.0
"""Pause before the next run: each adds a file for every topic with new records."""


def archive(
    options: BoardOptions,
    place: Place = "",
    accept_hole: AcceptHole = False,
    partitions: Partitions = 2,
    follow: Annotated[bool, typer.Option("--follow", help="Repeat every five minutes, until Ctrl-C.")] = False,
    json: Json = False,
) -> None:
    """Archive new records by parallel tasks, into the same files as `callboard archive run`."""
    loaded, where = loaded_with_place(options, place)
    tip = loaded.config.retention.archive_tip

    def work(run: "Run") -> None:
        from callboard.pipeline.archive.archiver import archive

        while True:
            report, undecodable = asyncio.run(
                archive(run, board_settings(loaded), where, accept_hole=accept_hole, tip=Path(tip) if tip else None)
            )
            show_run(report, where, undecodable, json=json)
            if not follow:
                return
            time.sleep(FOLLOW_S)

    run_job("archive", options, "", partitions, work)
