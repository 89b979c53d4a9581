"""What installed packages offer: backends under names of their own, through entry points."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

LOGS, BLOB_STORES, REPOSITORIES = "callboard.logs", "callboard.blob_stores", "callboard.repositories"
"""The groups. An entry's name is the scheme of its URLs, its object a function of the URL and the folder that relative
paths start from; it returns the log, blob store or repository without touching anything yet."""


def offered(group: str) -> "dict[str, EntryPoint]":
    """The entry points of a group, by the scheme that each is for."""
    from importlib.metadata import entry_points  # slow, and most boards need nothing that others offer

    return {entry.name: entry for entry in entry_points(group=group)}
