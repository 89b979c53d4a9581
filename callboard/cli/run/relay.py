"""``callboard run relay``: appends packages to the log of a site until it is stopped."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import structlog
import typer

from callboard.board.board import Callboard
from callboard.board.connect.configured import board_options
from callboard.cli.board import configure_service_logging, open_board, place
from callboard.cli.options import BoardOptions, Listen, Member
from callboard.cli.run.endpoints import Address, checked_address, endpoints
from callboard.cli.run.membership import membership
from callboard.cli.run.ready_file import ready_file
from callboard.cli.run.service import first_of, stop_signals
from callboard.cli.run.subscriber import Include, OnGap, SkipCommand
from callboard.cli.run.until_caught_up import until_caught_up
from callboard.config import Loaded, Value
from callboard.door.subscribers import relay_name
from callboard.errors import ConfigError, TopicMissing

if TYPE_CHECKING:
    from callboard.config import RelaySection

ENDLESS = -1
"""Retries of a relay: as many as it takes, since a site must lack nothing."""

To = Annotated[str | None, typer.Option("--to", metavar="URL", help="The log of the site.")]
From = Annotated[str | None, typer.Option("--from", metavar="URL", help="The log to read; the same as --log.")]
ToBlobs = Annotated[str | None, typer.Option(metavar="PLACE", help="The site's blob store: a folder, or s3://BUCKET.")]
Ledger = Annotated[
    str | None, typer.Option(metavar="PLACE", help="Keeps its position: sqlite:FILE, or postgresql://...")
]

Expect = Annotated[bool, typer.Option("--expect", help="Accept unknown names in --follow.")]


def relay(
    options: BoardOptions,
    name: Annotated[str, typer.Argument(help="Of the site, unique on the board.", show_default=False)],
    from_: From = None,
    to: To = None,
    to_blobs: ToBlobs = None,
    ledger: Ledger = None,
    follow: Annotated[list[str] | None, typer.Option(metavar="PUBLISHER", help="Only this one; repeatable.")] = None,
    include: Include = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="PATTERN", help="Leave out packages that touch only these; repeatable.")
    ] = None,
    editable: Annotated[bool, typer.Option("--editable", help="Allow skipping packages.")] = False,
    start: Annotated[str | None, typer.Option(help="First start: earliest, latest or an offset.")] = None,
    on_gap: OnGap = None,
    expect: Expect = False,
    skip_command: SkipCommand = None,
    standby: Annotated[bool, typer.Option("--standby", help="Wait while another process holds the name.")] = False,
    ready_file: Annotated[Path | None, typer.Option(metavar="FILE", help="Exists while it may serve.")] = None,
    listen: Listen = None,
    once: Annotated[bool, typer.Option("--until-caught-up", help="Exit when all is relayed, or cannot be.")] = False,
    member: Member = None,
    create: Annotated[bool, typer.Option("--create", help="Create the site's log if it does not exist.")] = False,
) -> None:
    """Run a relay: append packages to the log of a site, and speak for the subscribers there."""
    flags = _flags(
        relay_name(name), to=to, to_blobs=to_blobs, ledger=ledger, follows=follow, include=include, exclude=exclude,
        editable=editable, start=start, on_gap=on_gap, expect=expect, skip_commands=skip_command, standby=standby,
    )  # fmt: skip
    own = (Value(("log",), from_, "--from"), Value(("member", "instance"), member, "--member"))
    if from_ and options.log and from_ != options.log:
        raise ConfigError("--from and --log both name the log to read; give one of them")
    loaded = options.load(*flags, *own)
    settings = loaded.config.for_relay(name)
    if not settings.to:
        raise ConfigError(f"relay {name!r} has no log to append to; add --to URL, or set it in [relays.{name}]")
    if settings.to.startswith("memory:"):
        raise ConfigError("a log in memory would be lost at the end of this command; set --to to one that persists")
    address = checked_address(listen)
    asyncio.run(_run(options, loaded, name, settings, create=create, ready_path=ready_file, address=address, once=once))


def _flags(name: str, **said: Any) -> list[Value]:
    """The flags, as settings of this relay."""
    spelt = {"follows": "follow", "skip_commands": "skip_command"}
    return [
        Value(
            ("relays", name, key),
            None if value is False or value == [] else tuple(value) if isinstance(value, list) else value,
            f"--{spelt.get(key, key).replace('_', '-')}",
        )
        for key, value in said.items()
    ]


async def _run(
    options: BoardOptions,
    loaded: Loaded,
    name: str,
    its: "RelaySection",
    *,
    create: bool,
    ready_path: Path | None,
    address: Address,
    once: bool,
) -> None:
    configure = configure_service_logging(options, loaded.config)
    shared = board_options(loaded.config, events=False)
    shared["log"], shared["blobs"] = its.to, its.to_blobs
    site = Callboard(base=loaded.base, runtime=loaded.config.runtime, create=create, **shared)
    with stop_signals() as stop:
        async with open_board(loaded, configure=configure) as board:
            try:
                await site.__aenter__()
            except TopicMissing:
                raise ConfigError(
                    f"there is no log at {place(its.to)} yet; run `callboard init` there, add --create, or correct --to"
                ) from None
            try:
                edge = board.relay(
                    name, site, ledger=its.ledger or f"sqlite:relay-{name}.db",
                    **its.model_dump(exclude={"to", "to_blobs", "ledger"}),
                )  # fmt: skip
                line = structlog.get_logger().bind(relay=name)

                async def serve() -> None:
                    async with endpoints(board, address, edge), edge, ready_file(edge, ready_path):
                        line.info("relay.started", log=place(loaded.config.log), to=place(its.to))
                        await (until_caught_up(board, edge, ENDLESS) if once else edge.ended())

                await first_of(membership(board, loaded.config.member), stop.wait(), serve())
                line.info("relay.stopped")
            finally:
                await site.close()
