"""``callboard run outbox``: brings jobs from an outbox to the log until it is stopped."""

import asyncio

import structlog

from callboard.cli.board import configure_service_logging, open_board, place
from callboard.cli.options import BoardOptions, Create
from callboard.cli.outbox import Database, located
from callboard.cli.run.service import first_of, stop_signals
from callboard.config import Loaded


def outbox(options: BoardOptions, database: Database = None, create: Create = False) -> None:
    """Run an outbox: add jobs from the outbox of a database to the log until Ctrl-C or SIGTERM."""
    asyncio.run(_run(options, located(options, database), create=create))


async def _run(options: BoardOptions, loaded: Loaded, *, create: bool) -> None:
    configure = configure_service_logging(options, loaded.config)
    with stop_signals() as stop:
        async with open_board(loaded, create=create, configure=configure) as board:
            line, url = structlog.get_logger(), loaded.config.outbox
            async with board.jobs.outbox(url) as runner:
                line.info("outbox.started", log=place(loaded.config.log), database=place(url))
                await first_of(stop.wait(), runner.ended())
            line.info("outbox.stopped")
