"""``callboard log trim``: removes old records."""

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from callboard.backends.log import Retention
from callboard.board.care.retention_gate import GatePolicy, Need, lowest
from callboard.board.care.trimming import Removal, plan
from callboard.board.events.listeners import event_topics
from callboard.cli.board import on_board
from callboard.cli.log.retention import retention_gate
from callboard.cli.options import BoardOptions, Json, Yes
from callboard.cli.subscribers.clear import confirm
from callboard.cli.terminal.output import say, show, show_json
from callboard.errors import ConfigError, RequestRefused
from callboard.units import count, size

if TYPE_CHECKING:
    from callboard.board.board import Callboard
    from callboard.config import RetentionSection


def trim(
    options: BoardOptions,
    older_than_days: Annotated[float | None, typer.Option(min=0, help="Records older than this many days.")] = None,
    above_mb: Annotated[float | None, typer.Option(min=0, help="What a topic has above this many MB.")] = None,
    below: Annotated[int | None, typer.Option(metavar="OFFSET", help="Packages below this offset.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would go, and who would miss it.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Also remove what retention.gate keeps.")] = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Remove the oldest records, by the limits given or else by [retention]."""
    section = options.load().config.retention
    every = Retention(
        older_than_s=None if older_than_days is None else older_than_days * 86_400,
        above_bytes=None if above_mb is None else int(above_mb * 1e6),
    )
    if every == Retention() and below is None:
        configured = section.limits()
        if configured is None:
            raise ConfigError("no limit is given; add --older-than-days, --above-mb or --below, or set [retention]")
        every = configured

    async def work(board: "Callboard") -> list[Removal]:
        return await _trim(board, every, below, section, dry_run=dry_run, force=force, yes=yes)

    removals = on_board(options, work)
    if json:
        show_json(removals)
        return
    for removal in removals:
        verb = "would lose" if dry_run else "lost"
        show(f"{removal.topic} {verb} {count(removal.records, 'record')}, {size(removal.length)}")
        if dry_run and removal.missed_by:
            show(f"  missed by {_shown(removal.missed_by)}")


async def _trim(
    board: "Callboard",
    every: Retention,
    below: int | None,
    section: "RetentionSection",
    *,
    dry_run: bool,
    force: bool,
    yes: bool,
) -> list[Removal]:
    topics, now_ns = board.settings.topics, time.time_ns()
    gated = section.gate != "none" and not force
    kept = await retention_gate(board, section).keep_from(board.log, now_ns) if gated else {}
    wanted = {topics.package: replace(every, below_offset=below)}
    if every != Retention():
        others = (*topics.but_packages, *await event_topics(board.context))
        wanted |= {topic: replace(every, keep_from=kept.get(topic)) for topic in others}
    needs = await _needs(board, section, now_ns, gated=gated)
    planned = await plan(board.log, topics.package, topics.status, wanted, needs, now_ns)
    removals = [removal for removal, _ in planned]
    missed_by = removals[0].missed_by
    if dry_run or not any(removal.records for removal in removals):
        return removals
    if gated and missed_by:
        raise RequestRefused(
            f"still needed: {_shown(missed_by)}; nothing was removed. See `callboard status` for the cause, "
            f"forget those that are gone, use --below {missed_by[0].offset} to spare what is needed, or --force",
            code="needed",
        )
    if not yes:
        _ask(removals)
    for removal, retention in planned:
        keep_from = lowest(kept.get(removal.topic), retention.keep_from)
        await board.log.trim(removal.topic, replace(retention, keep_from=keep_from))
    return removals


async def _needs(board: "Callboard", section: "RetentionSection", now_ns: int, *, gated: bool) -> list[Need]:
    """Which subscriber needs what; computed even without a gate, to show it before the user confirms."""
    if gated:
        return await retention_gate(board, section).needs(board.log, now_ns)
    try:
        policy = GatePolicy("subscribers", section.gate_gone_days)
        return await board.retention_gate(policy).needs(board.log, now_ns)
    except RequestRefused as error:
        say(f"warning: {error}")
        return []


def _ask(removals: list[Removal]) -> None:
    going = [removal for removal in removals if removal.records]
    what = ", ".join(f"{count(removal.records, 'record')} of {removal.topic}" for removal in going)
    if missed_by := removals[0].missed_by:
        say(f"these have not processed all of it, and will have a gap: {_shown(missed_by)}")
    confirm(f"remove {what}?")


def _shown(needs: tuple[Need, ...]) -> str:
    return ", ".join(f"{need.name} (from offset {need.offset})" for need in needs)
