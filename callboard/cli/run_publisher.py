"""``callboard run publisher``: a publisher agent as a service."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any

import structlog
import typer

from callboard.app.board import Callboard
from callboard.cli.board import configure_service_logging, open_board, place
from callboard.cli.metrics import serve_metrics
from callboard.cli.options import BoardOptions
from callboard.cli.requests import answer_requests
from callboard.cli.retention import retention_gate
from callboard.cli.service import first_of, stop_signals
from callboard.cli.watching import watch
from callboard.config import Loaded, RetentionSection, Value
from callboard.errors import ConfigError, LogError, RequestRefused

RETENTION_S = 600.0
"""How often the retention is applied: it need not be exact, and removing holds the log's writers up a little."""


def publisher(
    options: BoardOptions,
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="Else as in callboard.toml.", show_default=False)] = "",
    source: Annotated[Path | None, typer.Option("--from", metavar="DIR", help="The folder it ships from.")] = None,
    requests: Annotated[str, typer.Option(metavar="-", help="Take requests, one JSON object a line, from here.")] = "",
    watch_s: Annotated[
        float | None,
        typer.Option("--watch", metavar="SECONDS", min=0.1, help="Look so often for changes, and ship them."),
    ] = None,
    metrics_port: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65535, help="Serve /metrics here, to this host alone; 0 is off.")
    ] = 0,
) -> None:
    """Run a publisher: keep its views warm and the log within its retention, and ship what is asked for or changed.

    With --requests -, each line of standard input is a request, such as
    {"kind": "add", "paths": ["/a"], "deep": true, "request_id": "1", "source": "./site"},
    and each gets one line of JSON as its answer, in order.
    """
    if requests not in ("", "-"):
        raise ConfigError(f"--requests {requests} is not possible; requests come from standard input: --requests -")
    flags = (
        Value(("publisher", "name"), name or None, "NAME"),
        Value(("publisher", "source"), str(source) if source else None, "--from"),
    )
    loaded = options.load(*flags)
    folder = loaded.config.publisher.source
    if folder and not Path(folder).is_dir():
        raise ConfigError(f"there is no folder {place(folder)} to ship from; create it, or name another (--from)")
    if watch_s and not loaded.config.publisher.source:
        raise ConfigError("there is nothing to watch; say --from DIR, or set source in [publisher]")
    asyncio.run(_run(options, loaded, watch_s, metrics_port, requests=bool(requests)))


async def _run(
    options: BoardOptions, loaded: Loaded, watch_s: float | None, metrics_port: int, *, requests: bool
) -> None:
    config = loaded.config
    configure = configure_service_logging(options, config)
    with stop_signals() as stop:
        async with open_board(loaded, create=True, configure=configure) as board:
            line = structlog.get_logger().bind(publisher=config.publisher.name)
            own = board.publisher(config.publisher.name)
            agent = await own.start()
            works: list[Coroutine[Any, Any, Any]] = [stop.wait(), agent.ended(), _retain(board, config.retention)]
            if requests:
                works.append(answer_requests(own, config.publisher.source))
            if watch_s:
                works.append(watch(own, Path(config.publisher.source), config.publisher.exclude, watch_s))
            if metrics_port:
                works.append(serve_metrics(board, metrics_port))
            line.info("publisher.started", log=place(config.log))
            await first_of(*works)
        line.info("publisher.stopped")


async def _retain(board: Callboard, section: RetentionSection) -> None:
    """Apply the retention now and every ten minutes, for ever."""
    retention = section.limits()
    gate = retention_gate(board, section)
    while retention is not None:
        line = structlog.get_logger()
        try:
            line.info("log.trimmed", **await board.trim(retention, gate))
        except (LogError, RequestRefused) as error:
            line.warning("log.not_trimmed", reason=str(error))
        await asyncio.sleep(RETENTION_S)
    await asyncio.Event().wait()
