"""``callboard run publisher``: a publisher agent as a service."""

import asyncio
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import structlog
import typer

from callboard.backends.repositories.path_patterns import PathPatterns
from callboard.board.connect.configured import add_configured_targets
from callboard.cli.board import configure_service_logging, open_board, place
from callboard.cli.log.retention import retention_gate
from callboard.cli.options import BoardOptions, Create, Listen, Member
from callboard.cli.publishing.requests import answer_requests
from callboard.cli.publishing.watching import watch
from callboard.cli.run.endpoints import Address, checked_address, endpoints
from callboard.cli.run.membership import membership
from callboard.cli.run.service import first_of, stop_signals
from callboard.config import Loaded, Value
from callboard.config.placement import placement
from callboard.errors import ConfigError, LogError, RequestRefused

if TYPE_CHECKING:
    from callboard.board.board import Callboard
    from callboard.config import RetentionSection

RETENTION_S = 600.0
"""How often the retention is applied: it need not be exact, and removal delays the log's writers a little."""


def publisher(
    options: BoardOptions,
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="Default: publisher.name.", show_default=False)] = "",
    source: Annotated[Path | None, typer.Option("--from", metavar="DIR", help="The folder to ship from.")] = None,
    at: Annotated[str, typer.Option(metavar="/PREFIX", help="Where it goes; default: as in callboard.toml.")] = "",
    requests: Annotated[str, typer.Option(metavar="-", help="Read requests here, one JSON object per line.")] = "",
    watch_s: Annotated[
        float | None,
        typer.Option("--watch", metavar="SECONDS", min=0.1, help="Look for changes this often, and ship them."),
    ] = None,
    catch_up: Annotated[
        bool, typer.Option("--catch-up", help="With --watch: ship all of it first, as it may have changed meanwhile.")
    ] = False,
    listen: Listen = None,
    member: Member = None,
    create: Create = False,
) -> None:
    """Run a publisher: keep its views warm, apply the retention, and ship requests or changed files.

    With --requests -, each line of standard input is a request, such as
    {"kind": "add", "paths": ["/a"], "deep": true, "request_id": "1", "source": "./site"},
    and each gets one line of JSON as its answer, in order.
    """
    if requests not in ("", "-"):
        raise ConfigError(f"--requests {requests} is not possible; requests come from standard input: --requests -")
    flags = (
        Value(("publisher", "name"), name or None, "NAME"),
        Value(("publisher", "source"), str(source) if source else None, "--from"),
        Value(("member", "instance"), member, "--member"),
    )
    loaded = options.load(*flags)
    folder = loaded.config.publisher.source
    if folder and not Path(folder).is_dir():
        raise ConfigError(f"there is no folder {place(folder)} to ship from; create it, or name another (--from)")
    if watch_s and not loaded.config.publisher.source:
        raise ConfigError("there is nothing to watch; add --from DIR, or set source in [publisher]")
    address = checked_address(listen)
    if catch_up and not watch_s:
        raise ConfigError("--catch-up is for --watch; to ship a folder once, use callboard publish DIR")
    asyncio.run(_run(options, loaded, at, watch_s, address, requests=bool(requests), catch_up=catch_up, create=create))


async def _run(
    options: BoardOptions,
    loaded: Loaded,
    at: str,
    watch_s: float | None,
    address: Address,
    *,
    requests: bool,
    catch_up: bool,
    create: bool,
) -> None:
    config = loaded.config
    configure = configure_service_logging(options, config)
    with stop_signals() as stop:
        async with (
            open_board(loaded, create=create, configure=configure) as board,
            endpoints(board, address, own := board.publisher(config.publisher.name)),
        ):
            line = structlog.get_logger().bind(publisher=config.publisher.name)
            add_configured_targets(board.territory, config)
            if config.publisher.source:
                board.territory.add_source(config.publisher.source)
            agent = await own.start()
            works: list[Coroutine[Any, Any, Any]] = [membership(board, config.member)]
            works += [stop.wait(), agent.ended(), _retain(board, config.retention)]
            if requests:
                works.append(answer_requests(own, loaded, at))
            if watch_s:
                folder = Path(config.publisher.source)
                patterns = PathPatterns(config.publisher.include, config.publisher.exclude)
                placed = placement(loaded, own.name, folder, at)
                works.append(watch(own, folder, placed, patterns, watch_s, catch_up=catch_up))
            line.info("publisher.started", log=place(config.log))
            await first_of(*works)
        line.info("publisher.stopped")


async def _retain(board: "Callboard", section: "RetentionSection") -> None:
    """Apply the retention now and every ten minutes, for ever; if it waits for the archive, report how far that is."""
    retention = section.limits()
    gate = retention_gate(board, section)
    while retention is not None or section.gate == "archive":
        line = structlog.get_logger()
        try:
            await gate.tell_log(board.log, time.time_ns())
            if retention is not None:
                line.info("log.trimmed", **await board.trim(retention, gate))
        except (LogError, RequestRefused) as error:
            line.warning("log.not_trimmed", reason=str(error))
        await asyncio.sleep(RETENTION_S)
    await asyncio.Event().wait()
