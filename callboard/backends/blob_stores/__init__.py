"""The built-in blob stores, and the choice among them by URL."""

from pathlib import Path

from callboard.backends.address import demand_path, shown
from callboard.backends.blob_store import BlobStore
from callboard.backends.blob_stores.folder import FolderBlobStore
from callboard.backends.offered import BLOB_STORES, offered, open_offered
from callboard.errors import ConfigError

_KINDS = "write folder:PATH, a path alone or s3://BUCKET/PREFIX"


def open_blob_store(url: str, base: Path) -> BlobStore:
    """The blob store that ``url`` names; nothing is opened or created yet.

    Args:
        url: ``folder:PATH``, a path alone, ``s3://BUCKET/PREFIX`` (see ``S3BlobStore`` for its options),
            or a scheme that an installed package offers.
        base: the folder that relative paths start from.

    Raises:
        ConfigError: an unknown kind of blob store, or an invalid URL.
        ExtraMissing: S3 needs a package that is not installed.
    """
    kind, colon, path = url.partition(":")
    if not colon or "/" in kind:
        kind, path = "folder", url
    if kind == "s3":
        from callboard.backends.blob_stores.s3 import S3BlobStore

        return S3BlobStore(url)
    if kind != "folder" and kind in (others := offered(BLOB_STORES)):
        store: BlobStore = open_offered(others[kind], url, base)
        return store
    if kind != "folder":
        raise ConfigError(f"unknown kind of blob store {shown(url)!r}; {_KINDS}")
    if not path:
        raise ConfigError(f"blob store {shown(url)!r} has no path; write folder:PATH or a path alone")
    return FolderBlobStore(base / demand_path(path))
