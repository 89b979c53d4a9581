"""Carries out the steps of a plan. All of it may be done again from the start, whatever was done before."""

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from callboard.backends.paths import parent_of
from callboard.backends.repositories.folder.plan import Step, names_on_disk
from callboard.backends.repository import EntryKind

OWNER_ALL = 0o700
"""What the owner needs on a folder to change what is in it."""


def roll_forward(root: Path, stage: Path, steps: Sequence[Step]) -> None:
    """Make the tree below ``root`` as the steps say, durably, with the files from ``stage``.

    A parent always comes before its children and is made a real folder, so that no link is ever followed.
    Raises ``OSError``.
    """
    planned: dict[str, set[str]] = {}
    for step in steps:
        planned.setdefault(parent_of(step.path), set()).add(step.path.rpartition("/")[2])
    for step in steps:
        target = root / step.path[1:]
        if step.kind is EntryKind.FOLDER:
            _make_folder(root, target, step, planned.get(step.path, set()))
        elif step.kind is EntryKind.FILE:
            _place(stage / step.content, target)
        elif step.kind is EntryKind.LINK:
            _make_link(stage / "link", target, step.content)
        else:
            _remove(target)
    for step in reversed(steps):
        if step.touched:
            # The final mode comes last: it may not allow the changes below, nor even to look.
            target = root / step.path[1:]
            sync = os.open(target, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                _set_mode(target, step.mode)
                os.fsync(sync)
            finally:
                os.close(sync)


def clear_stage(stage: Path) -> None:
    """Remove whatever is staged. Raises ``OSError``."""
    for file in stage.iterdir():
        file.unlink()


def _make_folder(root: Path, target: Path, step: Step, planned: set[str]) -> None:
    if target != root and not _is_folder(target):
        target.unlink(missing_ok=True)
        target.mkdir(OWNER_ALL)
    elif not step.touched:
        return
    _set_mode(target, step.mode | OWNER_ALL)
    if step.fresh:
        for name in names_on_disk(root, target):
            if name not in planned:
                _remove(target / name)


def _place(staged: Path, target: Path) -> None:
    try:
        staged.lstat()  # not exists(), which also answers False when it cannot look
    except FileNotFoundError:
        return  # renamed by the run that was cut short
    if _is_folder(target):
        _remove(target)
    staged.replace(target)


def _make_link(temporary: Path, target: Path, text: str) -> None:
    if _is_folder(target):
        _remove(target)
    temporary.unlink(missing_ok=True)
    temporary.symlink_to(text)
    temporary.replace(target)


def _remove(path: Path) -> None:
    """Remove the entry and, of a folder, everything below it."""
    if not _is_folder(path):
        path.unlink(missing_ok=True)
        return
    folders = [path]
    for folder in folders:  # grows while it is walked: parents come before their children
        _set_mode(folder, OWNER_ALL)
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(folder / entry.name)
                else:
                    (folder / entry.name).unlink(missing_ok=True)
    for folder in reversed(folders):
        folder.rmdir()


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def _set_mode(folder: Path, mode: int) -> None:
    """Set the nine permission bits and leave the others, such as set-group-id, as they are."""
    now = stat.S_IMODE(folder.stat().st_mode)
    wanted = (now & ~0o777) | mode
    if wanted != now:
        folder.chmod(wanted)
