"""Backends that installed packages offer under names of their own, through entry points."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from callboard.backends.address import shown
from callboard.backends.echo import harmless, masked
from callboard.errors import CallboardError, ConfigError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

LOGS, BLOB_STORES, REPOSITORIES = "callboard.logs", "callboard.blob_stores", "callboard.repositories"
"""The groups. An entry's name is the scheme of its URLs; its object is a function of the URL and the folder that
relative paths start from, and returns the log, blob store or repository without opening anything yet."""


def offered(group: str) -> "dict[str, EntryPoint]":
    """The entry points of a group, by URL scheme."""
    from importlib.metadata import entry_points  # slow, and most boards need no offered backend

    return {entry.name: entry for entry in entry_points(group=group)}


def open_offered(entry: "EntryPoint", url: str, base: Path) -> Any:
    """Open a URL with the entry point. Raises its errors, without the secret parts of the URL."""
    try:
        return entry.load()(url, base)
    except (CallboardError, ValueError) as error:  # such as urllib's, which repeat parts of the URL
        if isinstance(error, CallboardError) and harmless(error, url) is not None:
            raise
        raise ConfigError(f"{shown(url)!r} cannot be opened: {masked(error, url)}; correct it") from None
