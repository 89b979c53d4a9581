"""Cuts a tree into parts, one for each package; applied in order, they make the tree.

A small folder is shipped whole, and replaces what is there. A large one is shipped by itself, followed by its contents
in as few parts as possible. A folder comes before its contents, in the same part or an earlier one.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from callboard.backends.repository import Entry, EntryKind
from callboard.content.package_format.draft import BLOB_THRESHOLD

PARCEL_ENTRIES = 5000
"""Imported in one transaction within seconds; also the work that a dead task loses."""

PARCEL_BYTES = 64 << 20
"""Bytes of files inside a package; larger files are separate blobs."""

PARCEL_PATH_BYTES = 200_000
"""Bytes of paths: they are in the record, together with the digests of blobs."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A path, with everything below it if ``deep``; ``length`` counts its bytes inside the package."""

    path: str
    deep: bool
    entries: int
    length: int


@dataclass(frozen=True, slots=True)
class Part:
    """The requested paths of one package; ``deep_paths`` are those of them that are whole trees."""

    paths: tuple[str, ...]
    deep_paths: tuple[str, ...]


def cut(entries: Iterable[Entry], most: int = PARCEL_ENTRIES) -> Iterator[Part]:
    """The parts of a tree, each with at most ``most`` entries.

    The entries come as from ``Source.entries``: parents first. At most ``most`` of each level are in memory.
    """
    part: list[Unit] = []
    count = length = path_bytes = 0
    for unit in _units(entries, most):
        count, length = count + unit.entries, length + unit.length
        path_bytes += len(unit.path.encode())
        if part and (count > most or length > PARCEL_BYTES or path_bytes > PARCEL_PATH_BYTES):
            yield _parcel(part)
            part = []
            count, length, path_bytes = unit.entries, unit.length, len(unit.path.encode())
        part.append(unit)
    if part:
        yield _parcel(part)


def _parcel(units: Iterable[Unit]) -> Part:
    units = tuple(units)
    return Part(tuple(unit.path for unit in units), tuple(unit.path for unit in units if unit.deep))


@dataclass(slots=True)
class _Folder:
    """A folder being read. Once it is ``large``, its contents are shipped as they come."""

    path: str
    entries: int = 1
    length: int = 0
    large: bool = False
    inside: list[Unit] = field(default_factory=list)


def _units(entries: Iterable[Entry], most: int) -> Iterator[Unit]:
    open_folders: list[_Folder] = []
    for entry in entries:
        while open_folders and not _is_in(entry.path, open_folders[-1].path):
            yield from _close(open_folders, most)
        if entry.kind is EntryKind.FOLDER:
            open_folders.append(_Folder(entry.path))
        else:
            inside = entry.size if entry.size <= BLOB_THRESHOLD else 0
            yield from _add(open_folders, Unit(entry.path, False, 1, inside), most)
    while open_folders:
        yield from _close(open_folders, most)


def _close(open_folders: list[_Folder], most: int) -> Iterator[Unit]:
    folder = open_folders.pop()
    if not folder.large:
        yield from _add(open_folders, Unit(folder.path, True, folder.entries, folder.length), most)


def _add(open_folders: list[_Folder], unit: Unit, most: int) -> Iterator[Unit]:
    """Put the unit into the last folder. If that becomes large, so do its parents."""
    if not open_folders or open_folders[-1].large:
        yield unit
        return
    last = open_folders[-1]
    last.entries, last.length = last.entries + unit.entries, last.length + unit.length
    last.inside.append(unit)
    if last.entries > most or last.length > PARCEL_BYTES:
        for folder in open_folders:
            if not folder.large:
                yield Unit(folder.path, False, 1, 0)
                yield from folder.inside
                folder.large, folder.inside = True, []


def _is_in(path: str, folder: str) -> bool:
    return path.startswith(folder if folder == "/" else f"{folder}/")
