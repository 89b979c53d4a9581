"""Carries out the steps of a plan. It can be repeated from the start after any interruption."""

import os
from collections.abc import Sequence
from contextlib import suppress

from callboard.backends.repositories.descent import Descent
from callboard.backends.repositories.folder.plan import Step
from callboard.backends.repositories.paths import child_of, parent_of
from callboard.backends.repository import EntryKind

OWNER_ALL = 0o700
"""The owner's rights needed to change the entries of a folder."""

_LINK = "link"
"""The staged name of a link about to be placed."""


def roll_forward(tree: Descent, stage: int, steps: Sequence[Step]) -> None:
    """Make the tree match the steps, durably, with the files from ``stage``, a folder's descriptor.

    A parent always comes before its children and is made a real folder. Raises ``OSError``.
    """
    planned: dict[str, set[str]] = {}
    for step in steps:
        planned.setdefault(parent_of(step.path), set()).add(step.path.rpartition("/")[2])
    for step in steps:
        if step.kind is EntryKind.FOLDER:
            _make_folder(tree, step, planned.get(step.path, set()))
        elif step.kind is EntryKind.FILE:
            _place_file(tree, step, stage)
        elif step.kind is EntryKind.LINK:
            _make_link(tree, step, stage)
        else:
            _remove(tree, step.path)
    for step in reversed(steps):
        if step.touched:
            # The final mode comes last: it may forbid the changes below, and even reading.
            folder = tree.open_folder(step.path)
            try:
                tree.set_mode(step.path, step.mode)
                os.fsync(folder)
            finally:
                os.close(folder)


def _make_folder(tree: Descent, step: Step, planned: set[str]) -> None:
    made = tree.make_folder(step.path, step.mode | OWNER_ALL)
    if not made and not step.touched:
        return
    tree.set_mode(step.path, step.mode | OWNER_ALL)
    if step.fresh:
        for name in tree.names(step.path):
            if name not in planned:
                _remove(tree, child_of(step.path, name))


def _place_file(tree: Descent, step: Step, stage: int) -> None:
    try:
        _place(tree, step.path, step.content, stage)
    except FileNotFoundError:
        if step.content in os.listdir(stage):  # otherwise the interrupted run has already renamed it
            raise


def _make_link(tree: Descent, step: Step, stage: int) -> None:
    with suppress(FileNotFoundError):
        os.unlink(_LINK, dir_fd=stage)
    os.symlink(step.content, _LINK, dir_fd=stage)
    _place(tree, step.path, _LINK, stage)


def _place(tree: Descent, path: str, name: str, stage: int) -> None:
    try:
        tree.place(path, name, stage)
    except IsADirectoryError:
        _remove(tree, path)
        tree.place(path, name, stage)


def _remove(tree: Descent, path: str) -> None:
    """Remove the entry with everything below it."""
    folders, ahead = [], [path]
    while ahead:
        path = ahead.pop()
        try:
            tree.unlink(path)
        except IsADirectoryError:
            folders.append(path)  # parents come before their children
            tree.set_mode(path, OWNER_ALL)
            ahead.extend(child_of(path, name) for name in tree.names(path))
    for folder in reversed(folders):
        tree.remove_folder(folder)
