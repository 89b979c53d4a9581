"""``callboard run worker``: runs jobs until it is stopped."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import structlog
import typer

from callboard.board.connect.imported import imported
from callboard.cli.board import configure_service_logging, open_board, place
from callboard.cli.options import BoardOptions, Create, Member
from callboard.cli.run.service import stop_signals
from callboard.config import Loaded, Value
from callboard.errors import ConfigError


def worker(
    options: BoardOptions,
    jobs: Annotated[
        str, typer.Argument(metavar="MODULE:NAME", help="A JobRegistry, or a dict of functions.", show_default=False)
    ],
    slots: Annotated[int, typer.Option(min=1, help="How many jobs run at a time.")] = 10,
    drain: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="How long the end waits for jobs that run.")
    ] = 30.0,
    member: Member = None,
    create: Create = False,
) -> None:
    """Run a worker: run jobs as a member of the cluster until Ctrl-C or SIGTERM, then let those that run end."""
    loaded = options.load(Value(("member", "instance"), member, "--member"))
    functions = imported(jobs, loaded.base, "the jobs at")
    if not isinstance(functions, Mapping):
        raise ConfigError(f"{jobs} is {functions!r:.80}; name a JobRegistry, or a dict of functions by topic")
    asyncio.run(_run(options, loaded, functions, slots, drain, create=create))


async def _run(
    options: BoardOptions,
    loaded: Loaded,
    functions: Mapping[str, Callable[..., Any]],
    slots: int,
    drain_s: float,
    *,
    create: bool,
) -> None:
    configure = configure_service_logging(options, loaded.config)
    section = {name: value for name, value in loaded.config.member.model_dump().items() if value}
    with stop_signals() as stop:
        async with open_board(loaded, create=create, configure=configure) as board:
            line = structlog.get_logger()
            async with board.jobs.worker(functions, slots=slots, drain_s=drain_s, **section):
                line.info("worker.started", log=place(loaded.config.log), topics=tuple(functions), slots=slots)
                await stop.wait()
            line.info("worker.stopped")
