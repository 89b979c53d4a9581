"""Verifies an archive: every file, byte by byte, and every link between manifests."""

from collections.abc import Callable
from dataclasses import dataclass, field

from callboard.archive.files.manifest import Hole
from callboard.archive.reader import ArchiveReader
from callboard.archive.store import ArchiveStore
from callboard.archive.topic_archive import load
from callboard.errors import ArchiveDamaged


@dataclass(frozen=True, slots=True)
class Verified:
    """The result for a topic: accepted holes, and missing or altered files. Without either, the archive is whole."""

    topic: str
    first: int = 0
    next: int = 0
    rows: int = 0
    files: int = 0
    holes: tuple[Hole, ...] = field(default=())
    problems: tuple[str, ...] = field(default=())


async def verify(
    store: ArchiveStore, topic: str, on_file: Callable[[int, int], None] = lambda _done, _all: None
) -> Verified | None:
    """Read everything archived of the topic; None if there is nothing.

    Args:
        store: the archive, open; the caller closes it.
        topic: of the log.
        on_file: called with the number of files done, and of all files.
    """
    try:
        found = await load(store, topic)
    except ArchiveDamaged as error:
        return Verified(topic, problems=(str(error),))
    if found is None:
        return None
    reader, problems = ArchiveReader(store), list[str]()
    for number, file in enumerate(found.files, start=1):
        try:
            await reader.check(file)
        except ArchiveDamaged as error:
            problems.append(str(error))
        on_file(number, len(found.files))
    return Verified(topic, found.first, found.next, found.rows, len(found.files), found.holes, tuple(problems))
