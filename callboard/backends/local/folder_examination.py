"""The checks of ``callboard doctor`` for a folder: whether it can be written, and how much space is left."""

import os
from pathlib import Path

from callboard.backends.examination import Finding, ok, problem

ROOM_BYTES_MIN = 100 << 20
"""A few large packages use up less than this."""


def examine_place(what: str, path: Path, *, file: bool = False) -> list[Finding]:
    """Check a folder or file, or where it will be created, without changes. ``what`` begins each sentence."""
    try:
        there = next(folder for folder in (path, *path.parents) if folder.exists())
        room = os.statvfs(there)
    except OSError as error:
        return [problem(f"{what} {path} cannot be examined: {error.strerror}", "let this user enter its folders")]
    if not there.is_dir() and not (file and there == path):
        return [problem(f"{what} {path} cannot be used: {there} is a file", "choose a path that is a folder")]
    if not os.access(there, os.W_OK):
        fix = f"mount {there} for writing, or give this user write permission: chown"
        return [problem(f"{what} {path} cannot be written by this user", fix)]
    if (free := room.f_bavail * room.f_frsize) < ROOM_BYTES_MIN:
        fix = f"free space on the file system of {there}"
        return [problem(f"{what} {path} has {free >> 20} MB left on its file system", fix)]
    state = "can be written" if path == there else "does not exist yet, and can be created"
    return [ok(f"{what} {path} {state}; {free >> 20} MB are free")]
