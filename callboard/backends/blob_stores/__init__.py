"""The blob stores that come with callboard, and the choice among them by name."""

from pathlib import Path

from callboard.backends.blob_store import BlobStore
from callboard.backends.blob_stores.folder import FolderBlobStore
from callboard.errors import ConfigError


def open_blob_store(url: str, base: Path) -> BlobStore:
    """The blob store that ``url`` names; nothing is opened or created yet.

    Args:
        url: ``folder:PATH``, or a path alone.
        base: the folder from which relative paths count.

    Raises:
        ConfigError: no such kind of blob store.
    """
    kind, colon, path = url.partition(":")
    if not colon or "/" in kind:
        kind, path = "folder", url
    if kind == "s3":
        raise ConfigError(f"blob store {url!r}: S3 is not in this version; write folder:PATH")
    if kind != "folder":
        raise ConfigError(f"unknown kind of blob store {url!r}; write folder:PATH or a path alone")
    if not path:
        raise ConfigError(f"blob store {url!r} has no path; write folder:PATH or a path alone")
    return FolderBlobStore(base / path)
