"""``callboard log list``, ``grep``, ``show`` and ``export``: show the records on the log."""

import json as json_module
import re
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from callboard.board.connect.opening import open_board_blobs
from callboard.board.page import Page
from callboard.board.read.log.log_export import export_content, export_records
from callboard.board.read.log.log_records import LoggedRecord, record_data
from callboard.board.read.log.log_search import RecordFilter, listed
from callboard.board.read.log.log_topics import LOG_TOPICS, topic_of
from callboard.board.read.queues.queues import entry_offset
from callboard.cli.board import on_board
from callboard.cli.options import After, BoardOptions, Json, Limit, PublisherName
from callboard.cli.terminal import output
from callboard.cli.terminal.output import show_rest, text
from callboard.door.moments import moment_ns
from callboard.errors import ConfigError, RequestRefused
from callboard.units import age, count, size

if TYPE_CHECKING:
    from callboard.board.board import Callboard

    Topic = str
else:
    Topic = Literal[LOG_TOPICS]

TopicOption = Annotated[Topic, typer.Option(help="The topic.")]
KindOption = Annotated[str, typer.Option("--kind", metavar="KIND", help="add, delete, invalidate or test.")]
PathOption = Annotated[str, typer.Option("--path", metavar="PATTERN", help="With a path such as '/blog/*'.")]
UserOption = Annotated[str, typer.Option("--user", metavar="NAME", help="Requested by this user.")]
SinceOption = Annotated[str, typer.Option("--since", metavar="TIME", help="Such as 2h, 3d or 2026-01-31T12:00.")]
UntilOption = Annotated[str, typer.Option("--until", metavar="TIME", help="Until this time.")]
FromOption = Annotated[int | None, typer.Option("--from", metavar="OFFSET", help="From here on; default: the newest.")]


def list_records(
    options: BoardOptions,
    topic: TopicOption = "package",
    start: FromOption = None,
    publisher: PublisherName = "",
    kind: KindOption = "",
    path: PathOption = "",
    user: UserOption = "",
    since: SinceOption = "",
    until: UntilOption = "",
    after: After = "",
    limit: Limit = 20,
    json: Json = False,
) -> None:
    """List the newest records, oldest first; a record that cannot be decoded shows why."""
    wanted = _filter(publisher, kind, path, user, since, until)
    _search(options, topic, wanted, start, after, limit, json=json)


def grep(
    options: BoardOptions,
    pattern: Annotated[str, typer.Argument(help="A regular expression.", show_default=False)],
    topic: TopicOption = "package",
    start: FromOption = None,
    publisher: PublisherName = "",
    kind: KindOption = "",
    path: PathOption = "",
    user: UserOption = "",
    since: SinceOption = "",
    until: UntilOption = "",
    after: After = "",
    limit: Limit = 20,
    json: Json = False,
) -> None:
    """Find records by their paths, users, publishers, subscribers, ids and reasons."""
    wanted = _filter(publisher, kind, path, user, since, until, pattern)
    _search(options, topic, wanted, start, after, limit, json=json)


def show(
    options: BoardOptions,
    offset: Annotated[
        str, typer.Argument(metavar="OFFSET", help="The record, or TOPIC@OFFSET as in a queue.", show_default=False)
    ],
    topic: TopicOption = "package",
    json: Json = False,
) -> None:
    """Show one record: headers, message, and the content of a package."""

    async def work(board: "Callboard") -> dict[str, Any]:
        name = topic_of(board.settings, topic)
        place = int(offset) if offset.isascii() and offset.isdigit() else entry_offset(name, offset)
        blobs = open_board_blobs(board.settings)
        try:
            return await record_data(board.log, blobs, name, place)
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


def export(
    options: BoardOptions,
    offset: Annotated[int | None, typer.Argument(help="The package.")] = None,
    target: Annotated[Path | None, typer.Argument(help="A new folder, or a new file that ends in .tar.")] = None,
    ndjson: Annotated[
        str, typer.Option("--ndjson", metavar="FILE", help="Write records as lines of JSON; -: print them.")
    ] = "",
    topic: TopicOption = "package",
    publisher: PublisherName = "",
    since: SinceOption = "",
    until: UntilOption = "",
) -> None:
    """Write the content of a package to a folder or .tar file, or with --ndjson the records."""
    if bool(ndjson) == (offset is not None) or (offset is None) != (target is None):
        raise ConfigError("give an OFFSET and a TARGET, or --ndjson FILE")
    wanted = _filter(publisher, "", "", "", since, until)

    async def work(board: "Callboard") -> int:
        if offset is None or target is None:
            with nullcontext(sys.stdout) if ndjson == "-" else _new_file(ndjson) as file:
                return await export_records(board.log, topic_of(board.settings, topic), wanted, file)
        blobs = open_board_blobs(board.settings)
        try:
            with tempfile.TemporaryDirectory(prefix="callboard-export-") as spool:
                name = board.settings.topics.package
                return await export_content(board.log, blobs, name, offset, target.absolute(), Path(spool))
        finally:
            await blobs.close()

    number = on_board(options, work)
    what = count(number, "record" if ndjson else "entry")
    (output.say if ndjson == "-" else output.show)(f"{ndjson or target}: {what}")


def _new_file(name: str) -> Any:
    try:
        return Path(name).open("x", encoding="utf-8")
    except OSError as error:
        raise RequestRefused(
            f"{name} cannot be written: {error.strerror}; choose a new file", code="inaccessible"
        ) from error


def _filter(publisher: str, kind: str, path: str, user: str, since: str, until: str, pattern: str = "") -> RecordFilter:
    now_ns = time.time_ns()
    try:
        compiled = re.compile(pattern) if pattern else None
    except re.error as error:
        fix = "put a \\ before special characters"
        raise RequestRefused(f"{pattern!r} is not a regular expression: {error}; {fix}") from None
    since_ns, until_ns = (moment_ns(text, now_ns) if text else None for text in (since, until))
    return RecordFilter(publisher, kind, path, user, since_ns, until_ns, compiled)


def _search(
    options: BoardOptions,
    topic: str,
    wanted: RecordFilter,
    start: int | None,
    after: str,
    limit: int,
    *,
    json: bool,
) -> None:
    async def work(board: "Callboard") -> Page[LoggedRecord]:
        name, now_ns = topic_of(board.settings, topic), time.time_ns()
        return await listed(board.log, name, wanted, limit, now_ns, cursor=after, start=start)

    found = on_board(options, work)
    if json:
        output.show_json(found)
        return
    if not found.items:
        output.show(f"no such records on topic {topic}" if wanted != RecordFilter() else f"no records on topic {topic}")
    else:
        _show(found)
    show_rest(found)


def _show(found: Page[LoggedRecord]) -> None:
    output.show_table(
        ("<OFFSET>", "AGE", "TYPE", "<SIZE>", "ABOUT"),
        (
            (
                str(record.offset),
                age((found.as_of.time_ns - record.time_ns) / 1e9),
                record.type,
                size(record.length),
                text(record.problem, style="red") if record.problem else record.about,
            )
            for record in found.items
        ),
    )


def _lines(data: Mapping[str, Any]) -> list[str]:
    """The data as lines ``name: value``, indented below their headings; empty values are left out."""
    lines = []
    for name, value in data.items():
        if isinstance(value, dict):
            lines += [f"{name}:", *(f"  {line}" for line in _lines(value))]
        elif value not in ("", [], None):
            lines.append(f"{name}: {value if isinstance(value, str) else json_module.dumps(value)}")
    return lines
