"""``callboard log``: what is on the log, and the removal of what is old."""

import json as json_module
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from callboard.app.board import Callboard
from callboard.app.log_records import LoggedRecord, newest_start, record_data, records
from callboard.app.opening import open_board_blobs
from callboard.app.trimming import Removal, preview
from callboard.backends.log import Retention
from callboard.cli import output
from callboard.cli.board import on_board
from callboard.cli.clear import confirm
from callboard.cli.options import BoardOptions, Json, Limit, Yes
from callboard.cli.output import age, count, size
from callboard.errors import ConfigError


class Topic(StrEnum):
    """The topics, by their names without the prefix."""

    PACKAGE = "package"
    STATUS = "status"
    DISCOVERY = "discovery"
    COMMAND = "command"
    EVENT = "event"

    def on(self, board: Callboard) -> str:
        """The topic's name on this board."""
        return str(getattr(board.settings.topics, self))


TopicOption = Annotated[Topic, typer.Option(help="Which topic.")]


def list_records(
    options: BoardOptions,
    topic: TopicOption = Topic.PACKAGE,
    start: Annotated[int | None, typer.Option("--from", metavar="OFFSET", help="Else the newest ones.")] = None,
    limit: Limit = 20,
    json: Json = False,
) -> None:
    """List records, oldest first."""

    async def work(board: Callboard) -> list[LoggedRecord]:
        name = topic.on(board)
        first = start if start is not None else await newest_start(board.log, name, limit)
        return [record async for record in records(board.log, name, first, limit)]

    found = on_board(options, work)
    if json:
        output.show_json([asdict(record) for record in found])
    elif not found:
        output.show(f"no records on topic {topic}")
    else:
        now_ns = time.time_ns()
        output.show_table(
            ("<OFFSET>", "AGE", "TYPE", "<SIZE>", "ABOUT"),
            (
                (
                    str(record.offset),
                    age((now_ns - record.time_ns) / 1e9),
                    record.type,
                    size(record.length),
                    Text(record.problem, style="red") if record.problem else record.about,
                )
                for record in found
            ),
        )


def show(
    options: BoardOptions,
    offset: Annotated[int, typer.Argument(help="Of the record.", show_default=False)],
    topic: TopicOption = Topic.PACKAGE,
    json: Json = False,
) -> None:
    """Show one record: headers, message, and what is in a package."""

    async def work(board: Callboard) -> dict[str, Any]:
        blobs = open_board_blobs(board.settings)
        try:
            with tempfile.TemporaryDirectory(prefix="callboard-show-") as spool:
                return await record_data(board.log, blobs, topic.on(board), offset, Path(spool))
        finally:
            await blobs.close()

    data = on_board(options, work)
    if json:
        output.show_json(data)
        return
    entries = data.pop("entries", [])
    for line in _lines(data):
        output.show(line)
    if entries:
        output.show_table(
            ("FORM", "MODE", "<SIZE>", "PATH"),
            (
                (
                    entry["form"].lower(),
                    f"{entry['mode']:o}",
                    size(entry["size"]),
                    f"{entry['path']} -> {entry['target']}" if entry["target"] else entry["path"],
                )
                for entry in entries
            ),
        )


def trim(
    options: BoardOptions,
    older_than_days: Annotated[float | None, typer.Option(min=0, help="Records older than so many days.")] = None,
    above_mb: Annotated[float | None, typer.Option(min=0, help="What a topic has above so many MB.")] = None,
    below: Annotated[int | None, typer.Option(metavar="OFFSET", help="Packages below this offset.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Remove the oldest records: by the limits given, else by [retention] of the configuration."""
    every = Retention(
        older_than_s=None if older_than_days is None else older_than_days * 86_400,
        above_bytes=None if above_mb is None else int(above_mb * 1e6),
    )
    if every == Retention() and below is None:
        configured = options.load().config.retention.limits()
        if configured is None:
            raise ConfigError(
                "nothing says what may go; say --older-than-days, --above-mb or --below, or set [retention]"
            )
        every = configured

    async def work(board: Callboard) -> list[Removal]:
        wanted = _wanted(board, every, below)
        plan = [await preview(board.log, topic, retention, time.time_ns()) for topic, retention in wanted.items()]
        if not dry_run and any(removal.records for removal in plan):
            if not yes:
                await _ask(board, plan)
            for topic, retention in wanted.items():
                await board.log.trim(topic, retention)
        return plan

    plan = on_board(options, work)
    if json:
        output.show_json([asdict(removal) for removal in plan])
        return
    for removal in plan:
        verb = "would lose" if dry_run else "lost"
        output.show(f"{removal.topic} {verb} {count(removal.records, 'record')}, {size(removal.length)}")


def _wanted(board: Callboard, every: Retention, below: int | None) -> dict[str, Retention]:
    """What is to be removed from each topic; an offset is one of the package topic."""
    names = [Topic.PACKAGE, Topic.STATUS, Topic.DISCOVERY, Topic.COMMAND] if every != Retention() else [Topic.PACKAGE]
    wanted = {topic.on(board): every for topic in names}
    package = Topic.PACKAGE.on(board)
    wanted[package] = Retention(below, every.older_than_s, every.above_bytes)
    return wanted


async def _ask(board: Callboard, plan: list[Removal]) -> None:
    packages = plan[0]
    losing = [
        row.name
        for row in (await board.status()).subscribers
        if packages.records and row.liveness != "gone" and row.offset + 1 < packages.first
    ]
    what = ", ".join(f"{count(removal.records, 'record')} of {removal.topic}" for removal in plan if removal.records)
    if losing:
        output.say(f"these have not processed all of it, and will be at a gap: {', '.join(losing)}")
    confirm(f"remove {what}?")


def _lines(data: Mapping[str, Any]) -> list[str]:
    """The data as lines ``name: value``, indented below their headings; what is empty is left out."""
    lines = []
    for name, value in data.items():
        if isinstance(value, dict):
            lines += [f"{name}:", *(f"  {line}" for line in _lines(value))]
        elif value not in ("", [], None):
            lines.append(f"{name}: {value if isinstance(value, str) else json_module.dumps(value)}")
    return lines
