"""``callboard log list`` and ``log show``: what is on the log."""

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
from callboard.cli import output
from callboard.cli.board import on_board
from callboard.cli.options import BoardOptions, Json, Limit
from callboard.cli.output import age, size


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


def _lines(data: Mapping[str, Any]) -> list[str]:
    """The data as lines ``name: value``, indented below their headings; what is empty is left out."""
    lines = []
    for name, value in data.items():
        if isinstance(value, dict):
            lines += [f"{name}:", *(f"  {line}" for line in _lines(value))]
        elif value not in ("", [], None):
            lines.append(f"{name}: {value if isinstance(value, str) else json_module.dumps(value)}")
    return lines
