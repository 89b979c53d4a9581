"""An independent comparison of the content: plain walks over files, without callboard's code."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

CHUNK_BYTES = 1 << 20
STATE_FOLDER = ".callboard"
"""The folder repository's own state; not content."""


def differences(source: Path, target: Path) -> list[str]:
    """Every difference between two folders: names, kinds, modes, link targets, and contents byte by byte."""
    return list(_differences(source, target))


def _differences(source: Path, target: Path) -> Iterator[str]:
    ours, theirs = _listing(source), _listing(target)
    for path in sorted(ours.keys() - theirs.keys()):
        yield f"{path} is missing"
    for path in sorted(theirs.keys() - ours.keys()):
        yield f"{path} should not be there"
    for path in sorted(ours.keys() & theirs.keys()):
        if ours[path] != theirs[path]:
            yield f"{path} is {theirs[path]}, not {ours[path]}"
        elif ours[path][0] == "file" and not _same_bytes(source / path, target / path):
            yield f"{path} has other bytes"


def _listing(root: Path) -> dict[str, tuple[str, int, str]]:
    """Kind, mode or size-free description of everything below the root, by relative path."""
    found: dict[str, tuple[str, int, str]] = {}
    for folder, folders, files in os.walk(root):
        if Path(folder) == root and STATE_FOLDER in folders:
            folders.remove(STATE_FOLDER)
        for name in folders + files:
            path = Path(folder, name)
            status = path.lstat()
            mode = stat.S_IMODE(status.st_mode)
            relative = str(path.relative_to(root))
            if stat.S_ISLNK(status.st_mode):
                found[relative] = ("link", 0, str(path.readlink()))
            elif stat.S_ISDIR(status.st_mode):
                found[relative] = ("folder", mode, "")
            else:
                found[relative] = ("file", mode, "")
    return found


def _same_bytes(one: Path, other: Path) -> bool:
    with one.open("rb") as left, other.open("rb") as right:
        while True:
            ours, theirs = left.read(CHUNK_BYTES), right.read(CHUNK_BYTES)
            if ours != theirs:
                return False
            if not ours:
                return True
