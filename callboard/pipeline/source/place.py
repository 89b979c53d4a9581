"""Where records come from, as options of the data source: only names, since Spark shows options in plans."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from callboard.backends.address import is_shown_in_full, shown
from callboard.backends.echo import quoted
from callboard.backends.log import Log
from callboard.backends.registry import open_log
from callboard.config import load
from callboard.errors import ConfigError
from callboard.messages.topics import Topics

SORTS = ("log", "archive", "both")
"""``both`` is the archive up to its tip, then the log."""


@dataclass(frozen=True, slots=True)
class Place:
    """What to read. The process that opens it resolves the log's URL, which may have a password.

    ``board`` is the path of a callboard.toml; if empty, the variables ``CALLBOARD_...`` and the file in the current
    folder apply, as for every command. ``log_variable`` names a variable with the log's URL, which takes precedence.
    """

    topic: str
    board: str = ""
    log_variable: str = ""
    archive: str = field(default="", repr=False)  # a mistyped one may have a password in it
    sort: str = "log"

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "Place":
        """The place that a data source's options name. Raises ``ConfigError``."""
        archive = options.get("archive", "")
        place = cls(
            options.get("topic", "package"),
            options.get("board", ""),
            options.get("logVariable", ""),
            archive,
            options.get("from", "both" if archive else "log"),
        )
        named = (place.board, place.log_variable)
        if not all(map(is_shown_in_full, named)) or any("://" in each for each in named) or _holds_more(archive):
            raise ConfigError(
                "options of a data source are shown in plans, so they must not have a URL; set the option board to the "
                "path of a callboard.toml, or the option logVariable to the name of a variable with the URL"
            )
        if place.sort not in SORTS:
            raise ConfigError(f"the option from is {quoted(place.sort)}; choose among {', '.join(SORTS)}")
        if place.sort != "log" and not archive:
            raise ConfigError(f"from {place.sort} needs the option archive, the folder or bucket of the archive")
        return place

    def url(self) -> str:
        """The log's URL. Raises ``ConfigError`` for a log that is in the memory of another process."""
        if self.log_variable:
            url = os.environ.get(self.log_variable, "")
            if not url:
                raise ConfigError(f"variable {shown(self.log_variable)} is not set; set it before the session starts")
        else:
            url = load(Path(self.board) if self.board else None, os.environ).config.log
        if url.startswith("memory:"):
            raise ConfigError(
                "a log in memory exists in one process, and Spark's workers are others; use sqlite:///FOLDER"
            )
        return url

    def open_log(self) -> Log:
        """The log, opened on first use."""
        return open_log(self.url(), Path.cwd())

    def topic_name(self) -> str:
        """The topic's name on the log."""
        prefix = load(Path(self.board) if self.board else None, os.environ).config.prefix
        return str(getattr(Topics.with_prefix(prefix), self.topic))


def _holds_more(archive: str) -> bool:
    """Whether it has more than a place and a bucket's two options, which hold no secret."""
    if archive.startswith("s3:"):
        from callboard.backends.blob_stores.s3.bucket import Bucket

        Bucket.of(archive)  # raises ConfigError
        return False
    return not is_shown_in_full(archive)
