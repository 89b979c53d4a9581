"""The stores for an archive, and the choice between them."""

from pathlib import Path

from callboard.archive.store import ArchiveStore
from callboard.backends.address import demand_path, shown
from callboard.errors import ConfigError


def open_archive(place: str, base: Path) -> ArchiveStore:
    """The store that ``place`` names; nothing is opened or created yet.

    Args:
        place: a folder, or ``s3://BUCKET/PREFIX`` with the options of a blob store.
        base: the folder that relative paths start from.

    Raises:
        ConfigError: ``place`` names no such store.
        ExtraMissing: S3 needs a package that is not installed.
    """
    kind, colon, path = place.partition(":")
    if not colon or "/" in kind:
        kind, path = "folder", place
    if kind == "s3":
        from callboard.archive.stores.s3 import S3ArchiveStore

        return S3ArchiveStore(place)
    if kind != "folder" or not path:
        raise ConfigError(f"{shown(place)!r} is no place for an archive; write a folder, or s3://BUCKET/PREFIX")
    from callboard.archive.stores.folder import FolderArchiveStore

    return FolderArchiveStore(base / demand_path(path))
