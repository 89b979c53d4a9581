"""``callboard archive``: keeps the log's records in files, for as long as you like."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from callboard.backends.address import demand_path
from callboard.cli.board import board_settings, no_log, place
from callboard.cli.options import BoardOptions, Json
from callboard.cli.terminal.exit_codes import FOUND, code_of
from callboard.cli.terminal.log_setup import log_quietly
from callboard.cli.terminal.output import say, show, show_json, show_table, text
from callboard.config import Loaded
from callboard.errors import ConfigError, TopicMissing
from callboard.units import count, size

if TYPE_CHECKING:
    from callboard.board.archive.archiving import RunReport

R = TypeVar("R")

Place = Annotated[
    str, typer.Option("--archive", metavar="PLACE", help="A folder or s3://BUCKET/PREFIX; default: archive.place.")
]

AcceptHole = Annotated[
    bool, typer.Option("--accept-hole", help="Continue after records that the log has lost, and note the gap.")
]


def run(
    options: BoardOptions,
    archive: Place = "",
    accept_hole: AcceptHole = False,
    json: Json = False,
) -> None:
    """Archive new records, then exit; run it from a timer."""
    from callboard.board.archive import archiving

    loaded, where = loaded_with_place(options, archive)
    tip = loaded.config.retention.archive_tip
    with progress() as on_progress:
        report = _done(
            loaded,
            archiving.archive(
                board_settings(loaded),
                where,
                accept_hole=accept_hole,
                tip=Path(tip) if tip else None,
                on_progress=on_progress,
            ),
        )
    show_run(report, where, json=json)


def status(options: BoardOptions, archive: Place = "", json: Json = False) -> None:
    """Show what is archived, and how far behind the log it is."""
    from callboard.board.archive import archiving

    loaded, where = loaded_with_place(options, archive)
    states = _done(loaded, archiving.look(board_settings(loaded), where))
    if json:
        show_json(states)
        return
    show_table(
        ("TOPIC", "<FIRST>", "<NEXT>", "<LOG ENDS>", "<RECORDS>", "<FILES>", "<SIZE>", "REMARK"),
        (
            (
                state.topic, str(state.first), str(state.next), str(state.log_end), str(state.rows), str(state.files),
                size(state.length), text(state.problem, style="red") if state.problem else _holes(state.holes),
            )
            for state in states
        ),
    )  # fmt: skip


def verify(options: BoardOptions, archive: Place = "", json: Json = False) -> None:
    """Read the whole archive, and report what is missing or altered."""
    from callboard.board.archive import archiving

    loaded, where = loaded_with_place(options, archive)
    with progress() as on_progress:
        found = _done(loaded, archiving.check(board_settings(loaded), where, on_progress))
    if json:
        show_json(found)
    elif not found:
        show(f"{place(where)} holds nothing of this board")
    for topic in found if not json else ():
        show(f"{topic.topic}: {count(topic.rows, 'record')} from offset {topic.first} up to {topic.next - 1}, whole"
             if not topic.problems else f"{topic.topic}: {count(len(topic.problems), 'problem')}")  # fmt: skip
        if topic.holes:
            show(f"  {_holes(topic.holes)}")
        for problem in topic.problems:
            show(f"  {problem}")
    if any(topic.problems for topic in found):
        raise typer.Exit(FOUND)


def compact(options: BoardOptions, archive: Place = "", json: Json = False) -> None:
    """Merge small files, and remove what was replaced more than a day ago."""
    from callboard.board.archive import archiving

    loaded, where = loaded_with_place(options, archive)
    with progress() as on_progress:
        reports = _done(loaded, archiving.tidy(board_settings(loaded), where, on_progress))
    if json:
        show_json(reports)
        return
    for report in reports:
        topic = report.topic
        became = f"{count(topic.files_before, 'file')} became {topic.files}" if topic.generation else "nothing to do"
        removed = f"; removed {count(report.removed, 'old file')}, {size(report.removed_length)}"
        show(f"{topic.topic}: {became}{removed if report.removed else ''}")


def restore(
    options: BoardOptions,
    archive: Place = "",
    same_identity: Annotated[
        bool, typer.Option("--same-identity", help="The log replaces one that is lost for good.")
    ] = False,
    json: Json = False,
) -> None:
    """Restore the archive to an empty log, with the same offsets; resumes after an interruption."""
    from callboard.board.archive import archiving

    loaded, where = loaded_with_place(options, archive)
    with progress() as on_progress:
        done = _done(
            loaded,
            archiving.restore(board_settings(loaded), where, same_identity=same_identity, on_progress=on_progress),
        )
    if json:
        show_json(done)
        return
    for topic in done:
        if topic.rows:
            show(f"{topic.topic}: {count(topic.rows, 'record')} up to offset {topic.next - 1}")
    rows = sum(topic.rows for topic in done)
    show(f"restored {count(rows, 'record')} to {place(loaded.config.log)}" if rows else "everything is already there")


def show_run(report: "RunReport", where: str, undecodable: Mapping[str, int] | None = None, *, json: bool) -> None:
    """Show what a run archived, and exit with the code of the obstacle if it could not archive everything.

    ``undecodable`` is the number of undecodable records of each topic, if known.
    """
    if json:
        unread = {} if undecodable is None else {"undecodable": dict(undecodable)}
        show_json({"place": place(where), "seconds": round(report.seconds, 3), "topics": report.topics, **unread})
    else:
        for topic in report.topics:
            if topic.rows:
                what = f"{count(topic.rows, 'record')} up to offset {topic.next - 1}"
                show(f"{topic.topic}: {what}, {size(topic.length)}")
        rows = sum(topic.rows for topic in report.topics)
        show(f"archived {count(rows, 'record')} to {place(where)} in {report.seconds:.1f} s")
    for name, number in (undecodable or {}).items():
        if number:
            say(f"{name}: {count(number, 'record')} cannot be decoded, and are archived as they are")
    for topic in report.topics:
        if topic.problem:
            say(f"error: {topic.problem}")
    if report.error is not None:
        raise typer.Exit(code_of(report.error))


def archive_place(loaded: Loaded, said: str) -> str:
    """The archive's place, from the option or else the configuration. Raises ``ConfigError``."""
    if not said and not loaded.config.archive.place:
        raise ConfigError("no archive is named; set archive.place in callboard.toml, or add --archive PLACE")
    if said and "://" not in said:
        return str(Path.cwd() / demand_path(said.removeprefix("folder:")))
    return said or loaded.config.archive.place


def loaded_with_place(options: BoardOptions, said: str) -> tuple[Loaded, str]:
    """The configuration, and the archive's place; see ``archive_place``."""
    loaded = options.load()
    log_quietly(loaded.config.logging.format, verbose=options.verbose)
    return loaded, archive_place(loaded, said)


def progress() -> AbstractContextManager[Callable[..., None]]:
    """A progress bar on a terminal."""
    from callboard.cli.terminal.screen import progress as bar

    return bar("archive")


def _done(loaded: Loaded, work: Coroutine[Any, Any, R]) -> R:
    try:
        return asyncio.run(work)
    except TopicMissing:
        raise no_log(loaded.config) from None


def _holes(holes: Any) -> str:
    return ", ".join(f"hole from {hole.first} up to {hole.next - 1}" for hole in holes)
