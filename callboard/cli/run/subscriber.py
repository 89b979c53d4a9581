"""``callboard run subscriber``: imports packages until it is stopped."""

import asyncio
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import structlog
import typer

from callboard.actors.core.backoff import Backoff
from callboard.board.board import Callboard
from callboard.board.subscriber import Subscriber
from callboard.cli.archive import archive_place
from callboard.cli.board import configure_service_logging, open_board, place
from callboard.cli.options import BoardOptions, Create, Listen, Member, Yes
from callboard.cli.run.endpoints import Address, checked_address, endpoints
from callboard.cli.run.membership import membership
from callboard.cli.run.occupants import confirm_replacement
from callboard.cli.run.ready_file import ready_file
from callboard.cli.run.service import first_of, stop_signals
from callboard.cli.run.until_caught_up import until_caught_up
from callboard.config import Loaded, Value
from callboard.content.importing.target import OnOccupied
from callboard.errors import ConfigError

if TYPE_CHECKING:
    from callboard.config import SubscriberSection


BEFORE_HELP = "Call before content changes."
AFTER_HELP = "Call after content has changed."
INVALIDATE_HELP = "Call for invalidated paths."


OnGap = Annotated[str | None, typer.Option(metavar="fail|earliest", help="What to do if its next package was trimmed.")]
SkipCommand = Annotated[
    list[int] | None, typer.Option(metavar="OFFSET", help="Skip this unreadable command; repeatable.")
]
FromArchive = Annotated[
    bool, typer.Option("--from-archive", help="Read from archive.place what was trimmed from the log.")
]

Include = Annotated[
    list[str] | None, typer.Option(metavar="PATTERN", help="Only these paths, such as /blog/**; repeatable.")
]
Expect = Annotated[bool, typer.Option("--expect", help="Accept unknown names in --follow and --golden.")]


class Runtime(StrEnum):
    """Where actors run."""

    EMBEDDED = "embedded"
    PROCESSES = "processes"


def subscriber(
    options: BoardOptions,
    name: Annotated[str, typer.Argument(help="Unique on the board.", show_default=False)],
    into: Annotated[str | None, typer.Option(metavar="PLACE", help="A folder, sqlite:FILE, postgresql://...")] = None,
    follow: Annotated[list[str] | None, typer.Option(metavar="PUBLISHER", help="Only this one; repeatable.")] = None,
    include: Include = None,
    exclude: Annotated[list[str] | None, typer.Option(metavar="PATTERN", help="Without these; repeatable.")] = None,
    editable: Annotated[bool, typer.Option("--editable", help="Allow clearing its queue.")] = False,
    max_retries: Annotated[int | None, typer.Option(min=-1, help="Retries before giving up; -1: no limit.")] = None,
    start: Annotated[str | None, typer.Option(help="First start: earliest, latest or an offset.")] = None,
    on_gap: OnGap = None,
    adopt: Annotated[bool, typer.Option("--adopt", help="Keep existing content that no package touches.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Remove existing content; asks first.")] = False,
    yes: Yes = False,
    expect: Expect = False,
    golden: Annotated[str | None, typer.Option(metavar="NAME", help="Wait for this subscriber's verdicts.")] = None,
    skip_command: SkipCommand = None,
    runtime: Annotated[Runtime | None, typer.Option(help="Where its actors run.")] = None,
    before_import: Annotated[str | None, typer.Option(metavar="MODULE:FUNCTION", help=BEFORE_HELP)] = None,
    after_import: Annotated[str | None, typer.Option(metavar="MODULE:FUNCTION", help=AFTER_HELP)] = None,
    on_invalidate: Annotated[str | None, typer.Option(metavar="MODULE:FUNCTION", help=INVALIDATE_HELP)] = None,
    standby: Annotated[bool, typer.Option("--standby", help="Wait while another process holds the name.")] = False,
    ready_file: Annotated[Path | None, typer.Option(metavar="FILE", help="Exists while it may serve.")] = None,
    listen: Listen = None,
    from_archive: FromArchive = False,
    once: Annotated[bool, typer.Option("--until-caught-up", help="Exit when all is imported, or cannot be.")] = False,
    member: Member = None,
    create: Create = False,
) -> None:
    """Run a subscriber: import every package into its repository until Ctrl-C or SIGTERM."""
    flags = _flags(
        name, into=into, follow=follow, expect=expect, include=include, exclude=exclude, editable=editable,
        max_retries=max_retries, start=start, on_gap=on_gap, golden=golden, skip_command=skip_command,
        before_import=before_import, after_import=after_import, on_invalidate=on_invalidate, standby=standby,
    )  # fmt: skip
    cluster = Value(("member", "instance"), member, "--member")
    loaded = options.load(*flags, cluster, Value(("runtime",), runtime, "--runtime"))
    if not loaded.config.for_subscriber(name).into:
        raise ConfigError(f"subscriber {name!r} has nowhere to import to; add --into DIR, or set it in [subscriber]")
    if adopt and replace:
        raise ConfigError("--adopt keeps existing content and --replace removes it; use one of them")
    archive = archive_place(loaded, "") if from_archive else ""
    asyncio.run(
        _run(
            options,
            loaded,
            name,
            on_occupied="replace" if replace else "adopt" if adopt else "refuse",
            yes=yes,
            create=create,
            ready_path=ready_file,
            address=checked_address(listen),
            once=once,
            archive=archive,
        )
    )


def _flags(name: str, **said: Any) -> list[Value]:
    """The flags, as settings of this subscriber."""
    keys = {"follow": "follows", "skip_command": "skip_commands"}
    return [
        Value(
            ("subscribers", name, keys.get(option, option)),
            None if value is False or value == [] else tuple(value) if isinstance(value, list) else value,
            f"--{option.replace('_', '-')}",
        )
        for option, value in said.items()
    ]


async def _run(
    options: BoardOptions,
    loaded: Loaded,
    name: str,
    *,
    on_occupied: OnOccupied,
    yes: bool,
    create: bool,
    ready_path: Path | None,
    address: Address,
    once: bool,
    archive: str,
) -> None:
    settings = loaded.config.for_subscriber(name)
    configure = configure_service_logging(options, loaded.config)
    with stop_signals() as stop:
        async with open_board(loaded, create=create, configure=configure, archive=archive) as board:
            if loaded.config.publisher.source:
                board.territory.add_source(loaded.config.publisher.source)
            board.territory.add_target(settings.into)
            if on_occupied == "replace" and not await confirm_replacement(settings.into, loaded.base, yes=yes):
                on_occupied = "refuse"
            edge = _subscriber(board, name, settings, on_occupied)
            line = structlog.get_logger().bind(subscriber=name)

            async def serve() -> None:
                async with endpoints(board, address, edge), edge, ready_file(edge, ready_path):
                    line.info("subscriber.started", log=place(loaded.config.log), into=place(settings.into))
                    await (until_caught_up(board, edge, settings.max_retries) if once else edge.ended())

            await first_of(membership(board, loaded.config.member), stop.wait(), serve())
            line.info("subscriber.stopped")


def _subscriber(board: Callboard, name: str, settings: "SubscriberSection", on_occupied: OnOccupied) -> Subscriber:
    """The subscriber's options: the section has the same names, except for these."""
    options = settings.model_dump(exclude={"into", "retry_first_s", "retry_max_s"})
    retry = Backoff(settings.retry_first_s, settings.retry_max_s)
    return board.subscriber(name, settings.into, on_occupied=on_occupied, retry=retry, **options)
