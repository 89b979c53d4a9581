"""``callboard doctor``: is everything as it should be, and if not, what to do."""

import asyncio
import hashlib
import os
import platform
import secrets
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any

import typer

from callboard.app.board import Callboard
from callboard.app.opening import open_board_blobs
from callboard.cli.board import open_board, place, without_password
from callboard.cli.exit_codes import FOUND
from callboard.cli.logs import configure_logging
from callboard.cli.options import BoardOptions, Json
from callboard.cli.output import age, show, show_json, show_table
from callboard.config import SECTIONS, Loaded, RetentionSection
from callboard.config.sources import unknown_variables
from callboard.errors import CallboardError, ConfigError, TopicMissing

SOON = 0.5
"""A subscriber that is behind by this part of the retention is about to lose packages."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be, and what to do about it."""

    what: str
    fix: str


@dataclass(slots=True)
class Examination:
    """What was looked at, and what was found."""

    settings: list[dict[str, Any]]
    versions: dict[str, str]
    log: str
    topics: list[dict[str, Any]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def doctor(options: BoardOptions, json: Json = False) -> None:
    """Check configuration, log, blob store and retention; exit with 1 if something is to be done."""
    loaded = options.load()
    configure_logging("debug" if options.verbose else "error", loaded.config.logging.format)
    found = asyncio.run(examine(loaded))
    if json:
        show_json(asdict(found))
    else:
        _show(found)
    if found.findings:
        raise typer.Exit(FOUND)


async def examine(loaded: Loaded) -> Examination:
    """Look at everything."""
    settings = [
        {"key": ".".join(key), "value": without_password(value) if isinstance(value, str) else value, "origin": origin}
        for key, value, origin in loaded.origins()
    ]
    found = Examination(settings, versions(), place(loaded.config.log))
    for name, meant in unknown_variables(os.environ, SECTIONS).items():
        if meant:  # others may be of the surroundings, as those of a container's services
            found.findings.append(Finding(f"variable {name} is not a setting", f"rename it to {meant}, or unset it"))
    try:
        async with open_board(loaded, create=False) as board:
            found.findings += [finding async for finding in _check(board, found, loaded.config.retention)]
    except ConfigError as error:
        what, _, fix = str(error).partition("; ")
        found.findings.append(Finding(what, fix or "correct the configuration"))
    except CallboardError as error:
        found.findings.append(Finding(str(error), "repair it, then run `callboard doctor` again"))
    return found


def versions() -> dict[str, str]:
    """Of what matters when something goes wrong."""
    packages = ("callboard", "protobuf", "pydantic", "thespian")
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
        "sqlite": sqlite3.sqlite_version,
        "system": platform.platform(),
    }


async def _check(board: Callboard, found: Examination, retention: RetentionSection) -> AsyncIterator[Finding]:
    topics = board.settings.topics
    for topic in (topics.package, topics.status, topics.discovery, topics.command, topics.event):
        try:
            first, end = await board.log.bounds(topic)
            identity = await board.log.identity(topic)
        except TopicMissing:
            yield Finding(f"the log has no topic {topic}", "start any publisher or subscriber, which creates it")
            continue
        found.topics.append({"topic": topic, "first": first, "end": end, "identity": identity})
    async for finding in _check_blobs(board):
        yield finding
    async for finding in _check_retention(board, found, retention):
        yield finding


async def _check_blobs(board: Callboard) -> AsyncIterator[Finding]:
    """Store something and remove it again."""
    content = secrets.token_bytes(64)
    digest = hashlib.sha256(content).hexdigest()
    blobs = open_board_blobs(board.settings)
    try:
        await blobs.put(digest, [content])
        await blobs.delete(digest)
    except CallboardError as error:
        yield Finding(f"the blob store cannot be written: {error}", "repair it, or set blobs to another folder")
    finally:
        await blobs.close()


async def _check_retention(
    board: Callboard, found: Examination, retention: RetentionSection
) -> AsyncIterator[Finding]:
    """Compare what the log holds with where its subscribers are."""
    if not found.topics or found.topics[0]["topic"] != board.settings.topics.package:
        return
    first = found.topics[0]["first"]
    kept_s = retention.older_than_days * 86_400 if retention.older_than_days else None
    for row in (await board.status()).subscribers:
        if row.liveness == "gone" or row.offset < 0:
            continue
        if row.offset + 1 < first:
            yield Finding(
                f"the log begins at offset {first} and {row.name} is at {row.offset}: it is at a gap",
                "publish all content again and start it with --on-gap earliest; then let the log keep more",
            )
        elif kept_s and row.lag_s > SOON * kept_s:
            yield Finding(
                f"{row.name} is {age(row.lag_s)} behind, and packages are removed after {age(kept_s)}",
                f"see `callboard queue {row.name}` for what holds it up, or raise retention.older_than_days",
            )


def _show(found: Examination) -> None:
    show_table(
        ("SETTING", "VALUE", "FROM"), ((row["key"], str(row["value"]), row["origin"]) for row in found.settings)
    )
    show("")
    if found.topics:
        rows = ((row["topic"], str(row["first"]), str(row["end"]), row["identity"]) for row in found.topics)
        show_table(("TOPIC", "<FIRST>", "<END>", "IDENTITY"), rows)
        show("")
    show(", ".join(f"{name} {number}" for name, number in found.versions.items()))
    show("")
    if not found.findings:
        show("everything is as it should be")
    for finding in found.findings:
        show(f"found: {finding.what}\n  fix: {finding.fix}")
