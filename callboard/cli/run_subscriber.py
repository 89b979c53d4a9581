"""``callboard run subscriber``: import packages until told to stop."""

import asyncio
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import structlog
import typer

from callboard.actors.backoff import Backoff
from callboard.app.command_keys import read_command_key
from callboard.app.subscriber import Subscriber
from callboard.cli.archive import archive_place
from callboard.cli.board import configure_service_logging, open_board, place
from callboard.cli.exit_codes import FOUND
from callboard.cli.options import BoardOptions
from callboard.cli.output import count, say, show
from callboard.cli.ready_file import ready_file
from callboard.cli.service import first_of, stop_signals
from callboard.config import Loaded, SubscriberSection, Value
from callboard.errors import ConfigError, NotAnswered
from callboard.messages.distribution import State

LOOK_S = 1.0
"""How often ``--until-caught-up`` looks whether the subscriber is stuck."""


STUCK = {State.BLOCKED: "blocked", State.GAP: "at a gap", State.PAUSED: "paused"}
"""The states that pass only when somebody does something."""


BEFORE_HELP = "Called before content changes."
AFTER_HELP = "Called after content has changed."
INVALIDATE_HELP = "Called for paths that are invalidated."


class Runtime(StrEnum):
    """Where actors run."""

    EMBEDDED = "embedded"
    PROCESSES = "processes"


def subscriber(
    options: BoardOptions,
    name: Annotated[str, typer.Argument(help="Unique on the board.", show_default=False)],
    into: Annotated[str | None, typer.Option(metavar="PLACE", help="A folder, sqlite:FILE, postgresql://...")] = None,
    follow: Annotated[list[str] | None, typer.Option(metavar="PUBLISHER", help="Only this one; repeatable.")] = None,
    editable: Annotated[bool, typer.Option("--editable", help="Its queue may be cleared.")] = False,
    max_retries: Annotated[int | None, typer.Option(min=-1, help="Then give a package up; -1 is never.")] = None,
    start: Annotated[str | None, typer.Option(help="earliest, latest or an offset, if it never ran.")] = None,
    on_gap: Annotated[
        str | None, typer.Option(metavar="fail|earliest", help="If its next package was trimmed away.")
    ] = None,
    golden: Annotated[str | None, typer.Option(metavar="NAME", help="Wait for this one's verdicts.")] = None,
    skip_command: Annotated[
        list[int] | None, typer.Option(metavar="OFFSET", help="Pass over this unreadable command; repeatable.")
    ] = None,
    runtime: Annotated[Runtime | None, typer.Option(help="Where its actors run.")] = None,
    before_import: Annotated[str | None, typer.Option(metavar="MODULE:FUNCTION", help=BEFORE_HELP)] = None,
    after_import: Annotated[str | None, typer.Option(metavar="MODULE:FUNCTION", help=AFTER_HELP)] = None,
    on_invalidate: Annotated[str | None, typer.Option(metavar="MODULE:FUNCTION", help=INVALIDATE_HELP)] = None,
    standby: Annotated[bool, typer.Option("--standby", help="Wait while another one has the name.")] = False,
    ready_file: Annotated[Path | None, typer.Option(metavar="FILE", help="There while it may serve.")] = None,
    from_archive: Annotated[
        bool, typer.Option("--from-archive", help="Read from archive.place what the log has no more.")
    ] = False,
    until_caught_up: Annotated[bool, typer.Option("--until-caught-up", help="End when all there is is done.")] = False,
) -> None:
    """Run a subscriber: import every package into its repository until Ctrl-C or SIGTERM."""
    said = {
        "into": ("--into", into),
        "follows": ("--follow", tuple(follow) if follow else None),
        "editable": ("--editable", editable or None),
        "max_retries": ("--max-retries", max_retries),
        "start": ("--start", start),
        "on_gap": ("--on-gap", on_gap),
        "golden": ("--golden", golden),
        "skip_commands": ("--skip-command", tuple(skip_command) if skip_command else None),
        "before_import": ("--before-import", before_import),
        "after_import": ("--after-import", after_import),
        "on_invalidate": ("--on-invalidate", on_invalidate),
        "standby": ("--standby", standby or None),
    }
    flags = [Value(("subscribers", name, key), value, flag) for key, (flag, value) in said.items()]
    loaded = options.load(*flags, Value(("runtime",), runtime, "--runtime"))
    settings = loaded.config.for_subscriber(name)
    if not settings.into:
        raise ConfigError(f"subscriber {name!r} has nowhere to import to; say --into DIR, or set it in [subscriber]")
    archive = archive_place(loaded, "") if from_archive else ""
    asyncio.run(
        _run(
            options,
            loaded,
            name,
            settings,
            ready_path=ready_file,
            until_caught_up=until_caught_up,
            archive=archive,
        )
    )


async def _run(
    options: BoardOptions,
    loaded: Loaded,
    name: str,
    settings: SubscriberSection,
    *,
    ready_path: Path | None,
    until_caught_up: bool,
    archive: str,
) -> None:
    configure = configure_service_logging(options, loaded.config)
    with stop_signals() as stop:
        async with open_board(loaded, create=True, configure=configure, archive=archive) as board:
            edge = board.subscriber(
                name,
                settings.into,
                follows=settings.follows,
                editable=settings.editable,
                max_retries=settings.max_retries,
                on_give_up=settings.on_give_up,
                coalesce=settings.coalesce,
                parallel=settings.parallel,
                start=settings.start,
                on_gap=settings.on_gap,
                on_undecodable=settings.on_undecodable,
                golden=settings.golden,
                command_keys=tuple(map(read_command_key, settings.command_keys)),
                skip_commands=settings.skip_commands,
                announce_interval_s=settings.announce_interval_s,
                retry=Backoff(settings.retry_first_s, settings.retry_max_s),
                before_import=settings.before_import,
                after_import=settings.after_import,
                on_invalidate=settings.on_invalidate,
                hook_timeout_s=settings.hook_timeout_s,
                hook_max_retries=settings.hook_max_retries,
                ready_idle_s=settings.ready_idle_s,
                ready_max_age_s=settings.ready_max_age_s,
                ready_force_s=settings.ready_force_s,
                standby=settings.standby,
                stop_drain_s=settings.stop_drain_s,
            )
            async with edge, ready_file(edge, ready_path):
                line = structlog.get_logger().bind(subscriber=name)
                line.info("subscriber.started", log=place(loaded.config.log), into=place(settings.into))
                goal = _caught_up(edge) if until_caught_up else edge.ended()
                await first_of(stop.wait(), edge.ended(), goal)
            line.info("subscriber.stopped")


async def _caught_up(edge: Subscriber) -> None:
    """Wait for it, and say so. Exits when only somebody else can help the subscriber on."""
    while True:
        try:
            await edge.caught_up(LOOK_S)
        except NotAnswered:
            report = await edge.report()
            if report.state in STUCK:
                say(f"{edge.name} is {STUCK[report.state]} after offset {report.offset}: {report.reason}")
                raise typer.Exit(FOUND) from None
        else:
            report = await edge.report()
            imported = count(report.imported, "package")
            show(f"{edge.name} is caught up, at offset {report.offset}; it imported {imported} so far")
            return
