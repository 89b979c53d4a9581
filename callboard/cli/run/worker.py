"""``callboard run worker``: runs jobs until it is stopped."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import structlog
import typer

from callboard.board.connect.functions.imported import imported
from callboard.cli.board import configure_service_logging, open_board, place
from callboard.cli.options import BoardOptions, Create, Listen, Member
from callboard.cli.run.endpoints import Address, checked_address, endpoints
from callboard.cli.run.service import stop_signals
from callboard.config import Loaded, Value
from callboard.errors import ConfigError


def worker(
    options: BoardOptions,
    jobs: Annotated[
        str | None,
        typer.Argument(metavar="MODULE:NAME", help="A JobRegistry, or a dict of functions.", show_default=False),
    ] = None,
    slots: Annotated[int | None, typer.Option(min=1, help="How many jobs run at a time.")] = None,
    drain: Annotated[
        float | None, typer.Option(metavar="SECONDS", min=0, help="How long the end waits for jobs that run.")
    ] = None,
    deny: Annotated[list[str] | None, typer.Option(metavar="TOPIC", help="Do not run this; repeat it.")] = None,
    listen: Listen = None,
    member: Member = None,
    create: Create = False,
) -> None:
    """Run a worker: run jobs as a member of the cluster until Ctrl-C or SIGTERM, then let those that run end."""
    loaded = options.load(
        Value(("member", "instance"), member, "--member"), Value(("worker", "jobs"), jobs, "MODULE:NAME"),
        Value(("worker", "slots"), slots, "--slots"), Value(("worker", "drain_s"), drain, "--drain"),
        Value(("worker", "deny"), tuple(deny) if deny else None, "--deny"),
    )  # fmt: skip
    address = checked_address(listen)
    where = loaded.config.worker.jobs
    if not where:
        raise ConfigError("there is nothing to run; name a JobRegistry as MODULE:NAME, or by jobs in [worker]")
    functions = imported(where, loaded.base, "the jobs at")
    if not isinstance(functions, Mapping):
        raise ConfigError(f"{where} is {functions!r:.80}; name a JobRegistry, or a dict of functions by topic")
    asyncio.run(_run(options, loaded, functions, address, create=create))


async def _run(
    options: BoardOptions,
    loaded: Loaded,
    functions: Mapping[str, Callable[..., Any]],
    address: Address,
    *,
    create: bool,
) -> None:
    configure = configure_service_logging(options, loaded.config)
    its = loaded.config.worker
    section = {name: value for name, value in loaded.config.member.model_dump().items() if value}
    with stop_signals() as stop:
        async with open_board(loaded, create=create, configure=configure) as board:
            line = structlog.get_logger()
            worker = board.jobs.worker(functions, slots=its.slots, drain_s=its.drain_s, deny=its.deny, **section)
            async with endpoints(board, address, worker), worker:
                line.info("worker.started", log=place(loaded.config.log), topics=tuple(functions), slots=its.slots)
                await stop.wait()
            line.info("worker.stopped")
