"""What ``--replace`` would remove, for the user to confirm."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from callboard.backends.address import shown
from callboard.backends.repositories import open_repository
from callboard.backends.repository import EntryKind, Source
from callboard.cli.subscribers.clear import confirm
from callboard.cli.terminal.output import say
from callboard.errors import RepositoryBusy, RepositoryOccupied, RequestRefused
from callboard.units import count, size

SHOWN = 3
"""Names shown of what is removed: enough to recognise it."""


@dataclass(slots=True)
class Occupants:
    """The content of a place: totals, and some names."""

    files: int = 0
    folders: int = 0
    length: int = 0
    names: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        more = ", ..." if self.files + self.folders > len(self.names) else ""
        named = ", ".join(map(repr, self.names))
        return f"{count(self.files, 'file')} and {count(self.folders, 'folder')}, {size(self.length)}: {named}{more}"


async def confirm_replacement(into: str, base: Path, *, yes: bool) -> bool:
    """Whether there is anything to remove; if so, says what, and ends the command unless the user agrees."""
    repository = open_repository(into, base)
    try:
        await repository.open()
        return False
    except RepositoryBusy:
        return False  # its holder has filled it; the subscriber reports that
    except RepositoryOccupied as error:
        try:
            found = await asyncio.to_thread(_look, repository)
        except RequestRefused as reason:
            raise RepositoryOccupied(f"{error}. What it holds cannot be listed: {reason}") from reason
    finally:
        await repository.close()
    if not yes:
        confirm(f"{shown(into)} holds {found}. Remove all of it?")
    say(f"removing what {shown(into)} holds: {found}")
    return True


def _look(source: Source) -> Occupants:
    found = Occupants()
    for entry in source.entries("/", deep=True):
        if entry.path == "/":
            continue
        found.folders += entry.kind is EntryKind.FOLDER
        found.files += entry.kind is not EntryKind.FOLDER
        found.length += entry.size
        if len(found.names) < SHOWN:
            found.names.append(entry.path)
    return found
