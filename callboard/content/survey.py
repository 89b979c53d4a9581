"""A listing of a repository, with a digest: one entry a line, as JSON, in the order of ``Source.entries``."""

import asyncio
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from callboard.backends.blob_store import CHUNK_BYTES, BlobStore
from callboard.backends.repositories.paths import check_path
from callboard.backends.repository import Entry, EntryKind, Source
from callboard.errors import PackageCorrupt, RequestRefused

ENTRIES_MAX = 2_000_000
"""The most entries of one list, about 200 MB of it; for more, ask for single paths."""


@dataclass(frozen=True, slots=True)
class Survey:
    """A list stored in the blob store under its ``digest``."""

    digest: str
    entries: int


@dataclass(frozen=True, slots=True)
class Surveyed:
    """An entry of a list; ``digest`` is the sha-256 of a file's content."""

    path: str
    kind: EntryKind
    mode: int
    digest: str = ""
    target: str = ""


async def survey(source: Source, blobs: BlobStore, paths: tuple[str, ...]) -> Survey:
    """List the entries at and below the paths, or all if none are given; a missing path has no entries.

    Raises ``RequestRefused`` for too many entries, ``BlobUnavailable`` when the list cannot be stored.
    """
    with TemporaryFile() as file:
        found = await asyncio.to_thread(_write, source, paths or ("/",), file)
        await blobs.put(found.digest, _chunks(file))
        return found


def read_survey(path: Path) -> Iterator[Surveyed]:
    """The entries of a list. Blocking. Raises ``PackageCorrupt`` if it is not one: anyone can store a blob."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield _entry(json.loads(line))
            except (ValueError, KeyError, TypeError, RecursionError, RequestRefused) as error:
                raise PackageCorrupt(
                    f"line {number} of list {path.name} is not an entry of a repository ({type(error).__name__}); list "
                    "the content again"
                ) from error


def _entry(data: dict[str, Any]) -> Surveyed:
    texts = tuple(data[name] for name in ("path", "kind", "digest", "target"))
    if not all(isinstance(text, str) for text in texts) or type(data["mode"]) is not int:
        raise TypeError
    path, kind, digest, target = texts
    return Surveyed(check_path(path), EntryKind[kind], data["mode"], digest, target)


def _write(source: Source, paths: tuple[str, ...], file: BinaryIO) -> Survey:
    sha, count = hashlib.sha256(), 0
    for path in sorted(set(paths)):
        for entry in _entries(source, check_path(path)):
            count += 1
            if count > ENTRIES_MAX:
                raise RequestRefused(f"more than {ENTRIES_MAX} entries; verify fewer paths at a time", code="too_large")
            line = json.dumps(_data(entry)).encode() + b"\n"
            sha.update(line)
            file.write(line)
    file.flush()
    return Survey(sha.hexdigest(), count)


def _entries(source: Source, path: str) -> Iterator[Entry]:
    try:
        list(source.entries(path, deep=False))
    except RequestRefused:
        return  # missing or unreadable: the list has no entries for it
    yield from source.entries(path, deep=True)


def _data(entry: Entry) -> dict[str, str | int]:
    digest = ""
    if entry.kind is EntryKind.FILE:
        sha = hashlib.sha256()
        for chunk in entry.open():
            sha.update(chunk)
        digest = sha.hexdigest()
    return {
        "path": entry.path,
        "kind": entry.kind.name,
        "mode": entry.mode,
        "digest": digest,
        "target": entry.target,
    }


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    file.seek(0)
    while chunk := file.read(CHUNK_BYTES):
        yield chunk
