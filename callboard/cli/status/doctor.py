"""``callboard doctor``: finds problems, and says what to do about them."""

import asyncio
import platform
import sqlite3
import time
from collections.abc import Iterator
from dataclasses import astuple, dataclass, field
from importlib.metadata import version
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from callboard.backends.address import shown, without_passwords
from callboard.backends.examination import Finding, Level, advice, problem_of
from callboard.board.care.checkup import Checkup, examine_backends
from callboard.board.care.fleet_checkup import TopicView, examine_fleet, examine_topics
from callboard.board.entities.health.checkup import examine_folds
from callboard.board.envelope import fields_of
from callboard.board.events.listeners import examine_listeners
from callboard.board.jobs.health.checkup import examine_jobs
from callboard.board.jobs.outbox.checkup import examine_outbox
from callboard.board.read.log.ignored import examine_ignored, look
from callboard.board.topology.checkup import examine_cluster
from callboard.cli.board import board_settings, open_board, place
from callboard.cli.options import BoardOptions, Json
from callboard.cli.terminal.exit_codes import FOUND
from callboard.cli.terminal.log_setup import log_quietly
from callboard.cli.terminal.output import show, show_drawn, show_json, show_table, tell, text
from callboard.config import Loaded
from callboard.errors import CallboardError

if TYPE_CHECKING:
    from callboard.config import Config

PLACES = ("log", "blobs", "outbox", "into", "place", "source", "archive_tip")
"""The settings that are addresses or paths."""
STYLES = {Level.OK: "green", Level.ADVICE: "yellow", Level.PROBLEM: "bold red"}


@dataclass(slots=True)
class Report:
    """What was checked, and the findings."""

    settings: list[dict[str, Any]]
    versions: dict[str, str]
    log: str
    topics: list[TopicView] = field(default_factory=list)
    checkup: Checkup = field(default_factory=Checkup)

    def rows(self) -> Iterator[tuple[str, Finding]]:
        """Every finding and its subject."""
        for about, findings in self.checkup.findings.items():
            yield from ((about, finding) for finding in findings)


def doctor(
    options: BoardOptions,
    every: Annotated[bool, typer.Option("--all", help="Also show settings that have their defaults.")] = False,
    json: Json = False,
) -> None:
    """Check configuration, servers, clocks, permissions and the fleet; exit with 1 if something needs attention."""
    loaded = options.load()
    log_quietly(loaded.config.logging.format, verbose=options.verbose)
    report = asyncio.run(examine(loaded))
    if json:
        show_json(_plain(report))
        for about, finding in report.rows():
            if finding.level is not Level.OK:
                tell(finding.level, f"{about}: {finding.what}; {finding.fix}")
    else:
        _show(report, every=every)
    if not report.checkup.is_well():
        raise typer.Exit(FOUND)


async def examine(loaded: Loaded) -> Report:
    """Check everything; writes nothing."""
    config = loaded.config
    settings = [
        {
            "key": ".".join(key),
            "value": shown(value) if key[-1] in PLACES or "://" in str(value) else value,
            "origin": origin,
        }
        for key, value, origin in loaded.origins()
    ]
    report = Report(settings, versions(), place(config.log))
    report.checkup = await examine_backends(board_settings(loaded), _repositories(config), time.time_ns)
    report.checkup.add("passwords", *_exposed(loaded))
    if report.checkup.is_well("log"):  # else the same problem would be reported twice
        try:
            await _examine_board(loaded, report)
        except CallboardError as error:
            report.checkup.add("log", problem_of(error))
    return report


def _exposed(loaded: Loaded) -> Iterator[Finding]:
    """Passwords that other users of this host may read."""
    holders = [
        value.origin for value in loaded.given.values()
        if value.key[-1] in PLACES and isinstance(value.value, str) and without_passwords(value.value) != value.value
    ]  # fmt: skip
    if any(origin.startswith("--") for origin in holders):
        yield advice(
            "a password is in the arguments of this command, which every user of this host may read",
            "put the URL in CALLBOARD_LOG, or keep the password elsewhere: see docs/operations.md",
        )
    file = loaded.file and loaded.base / loaded.file.name
    if file and any(origin.startswith(file.name) for origin in holders) and file.stat().st_mode & 0o077:
        yield advice(f"others may read {file}, which has a password in it", f"chmod 600 {quote(str(file))}")


async def _examine_board(loaded: Loaded, report: Report) -> None:
    async with open_board(loaded) as board:
        report.topics, found = await examine_topics(board.context, time.time_ns)
        report.checkup.add("topics", *found)
        report.checkup.add("cluster", *await examine_cluster(board.context))
        report.checkup.add("jobs", *await examine_jobs(board.context))
        if loaded.config.outbox:
            report.checkup.add("outbox", *await examine_outbox(board.jobs.outbox(loaded.config.outbox)))
        report.checkup.add("listeners", *await examine_listeners(board.context))
        if not {row.topic for row in report.topics}.issuperset(astuple(board.settings.topics)):
            return  # a missing topic cannot be read
        report.checkup.add("folds", *await examine_folds(board.context))
        limits = loaded.config.retention.limits()
        report.checkup.add("subscribers", *await examine_fleet(board.context, limits, report.checkup.kept))
        report.checkup.add("signatures", *examine_ignored(await look(board.log, board.settings.topics), time.time_ns()))


def versions() -> dict[str, str]:
    """The versions that matter when something goes wrong."""
    packages = ("callboard", "protobuf", "pydantic", "thespian")
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
        "sqlite": sqlite3.sqlite_version,
        "system": platform.platform(),
    }


def _repositories(config: "Config") -> dict[str, str]:
    """The repository of each configured subscriber."""
    named = {name: own.into for name, own in config.subscribers.items() if own.into}
    return named or ({"subscriber": config.subscriber.into} if config.subscriber.into else {})


def _plain(report: Report) -> dict[str, Any]:
    data: dict[str, Any] = fields_of(report)
    data.pop("checkup")
    return data | {"findings": [{"about": about, **fields_of(finding)} for about, finding in report.rows()]}


def _show(report: Report, *, every: bool) -> None:
    for about, finding in report.rows():
        if finding.level is not Level.OK:
            show_drawn(text((finding.level, STYLES[finding.level]), f": {about}: {finding.what}"))
            if finding.fix:
                show(f"  fix: {finding.fix}")
    if not report.checkup.is_fine():
        show("")
    show_table(
        ("LOOKED AT", "FOUND", ""),
        (
            (about, text(finding.level, style=STYLES[finding.level]), finding.what)
            for about, finding in report.rows()
            if finding.level is Level.OK
        ),
    )
    show("")
    if report.topics:
        rows = ((row.topic, str(row.first), str(row.end), row.identity) for row in report.topics)
        show_table(("TOPIC", "<FIRST>", "<END>", "IDENTITY"), rows)
        show("")
    _show_settings(report, every=every)
    show(", ".join(f"{name} {number}" for name, number in report.versions.items()))
    show("")
    if report.checkup.is_fine():
        show("everything is as it should be")
    else:
        show("no action is needed" if report.checkup.is_well() else "action is needed: see above")


def _show_settings(report: Report, *, every: bool) -> None:
    shown = [row for row in report.settings if every or row["origin"] != "default"]
    if shown:
        show_table(("SETTING", "VALUE", "FROM"), ((row["key"], str(row["value"]), row["origin"]) for row in shown))
    if left := len(report.settings) - len(shown):
        show(f"{left} settings are at their defaults; --all shows them")
    show("")
