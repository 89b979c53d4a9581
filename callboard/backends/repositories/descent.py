"""A tree of files, entered one folder at a time by descriptors, so that no link in it is ever followed.

The kernel resolves a whole path through the entries that exist at that moment. A user who can write in one folder of
the tree can replace another folder by a link between two calls, and redirect them out of the tree. A descriptor
stays with its folder, even if the folder is renamed.
"""

import os
import stat
from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, Self, TypeVar

from callboard.backends.repositories.paths import RESERVED, parent_of

HELD_FOLDERS = 32
"""Descriptors kept for the folders used last: enough for the depth of most trees, far below the limit of 1024."""

ENTER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""For a folder to look up names in. As with a path, this needs the right to search it, not to read it."""

LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""For a folder to be read, synced, or given a mode."""

OWNER_LOOKS = 0o500
"""The owner's rights needed to look into a folder; the owner can always grant itself the right to change it."""

P = ParamSpec("P")
T = TypeVar("T")
Method = Callable[Concatenate["Descent", str, P], T]


def _named(method: Method[P, T]) -> Method[P, T]:
    """Have an ``OSError`` name the whole path, since the kernel was given only a name."""

    @wraps(method)
    def naming(self: "Descent", path: str, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(self, path, *args, **kwargs)
        except OSError as error:
            error.filename = str(self.root / path[1:])
            raise

    return naming


def workable(mode: int) -> int:
    """The mode for a folder: if it locks the owner out, all rights of the owner are added."""
    return mode if mode & OWNER_LOOKS == OWNER_LOOKS else mode | stat.S_IRWXU


class Descent:
    """The tree below a folder. Paths are those of content: ``/`` is the folder itself. For one thread at a time.

    Every method raises ``OSError``; ``NotADirectoryError`` when an ancestor is not, or no longer, a folder.

    Args:
        root: the folder, looked up once; only it may be reached through links.
        unlocks: folders of this user that lock it out are made ``workable`` when they are entered.
    """

    def __init__(self, root: Path, unlocks: bool = False) -> None:
        self.root = root
        self._unlocks = unlocks
        self._top = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._held: OrderedDict[str, int] = OrderedDict()
        self._unlock(self._top)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close every descriptor; idempotent."""
        self.forget("/")
        top, self._top = self._top, -1
        if top >= 0:
            os.close(top)

    def forget(self, path: str) -> None:
        """Drop the descriptors at and below the path, which has changed."""
        below = path.rstrip("/") + "/"
        for held in [held for held in self._held if held == path or held.startswith(below)]:
            os.close(self._held.pop(held))

    @_named
    def folder(self, path: str) -> int:
        """A descriptor to look up names in the folder with; valid until another folder is requested."""
        if path in self._held:
            self._held.move_to_end(path)
            return self._held[path]
        below = []
        while path != "/" and path not in self._held:
            below.append(path)
            path = parent_of(path)
        descriptor = self._top if path == "/" else self._held[path]
        for path in reversed(below):
            descriptor = os.open(path[path.rfind("/") + 1 :], ENTER, dir_fd=descriptor)
            self._held[path] = descriptor
            self._unlock(descriptor)
            if len(self._held) > HELD_FOLDERS:
                os.close(self._held.popitem(last=False)[1])
        return descriptor

    @_named
    def status(self, path: str) -> os.stat_result:
        """The status of the entry at the path; links are not followed."""
        if path == "/":
            return os.fstat(self._top)
        folder, name = self._at(path)
        return os.stat(name, dir_fd=folder, follow_symlinks=False)

    @_named
    def names(self, path: str) -> list[str]:
        """The names in a folder, unsorted; at the top without the repository's own."""
        descriptor = self.open_folder(path)
        try:
            names = os.listdir(descriptor)  # noqa: PTH208 - a descriptor, not a path
        finally:
            os.close(descriptor)
        return [name for name in names if name != RESERVED] if path == "/" else names

    @_named
    def target(self, path: str) -> str:
        """The target of a link, verbatim."""
        folder, name = self._at(path)
        return os.readlink(name, dir_fd=folder)

    @_named
    def open_file(self, path: str) -> int:
        """A descriptor to read with; opening a pipe does not wait for a writer."""
        folder, name = self._at(path)
        return os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)

    @_named
    def open_folder(self, path: str) -> int:
        """A descriptor to list or sync the folder, or to set its mode."""
        return os.open(".", LIST, dir_fd=self.folder(path))

    @_named
    def make_folder(self, path: str, mode: int) -> bool:
        """Make a folder if there is none, replacing a file or link; returns whether it was made."""
        try:
            self.folder(path)
        except FileNotFoundError:
            pass
        except NotADirectoryError:
            self.unlink(path)
        else:
            return False
        folder, name = self._at(path)
        os.mkdir(name, mode, dir_fd=folder)
        return True

    @_named
    def set_mode(self, path: str, mode: int) -> None:
        """Set the nine permission bits of a folder, and keep the others, such as set-group-id."""
        descriptor = self.folder(path)
        now = os.fstat(descriptor).st_mode & 0o7777
        wanted = (now & ~0o777) | mode
        if wanted != now:
            _set_mode(descriptor, wanted)

    @_named
    def may_read(self, path: str) -> bool:
        """Whether this user may read the file."""
        folder, name = self._at(path)
        return os.access(name, os.R_OK, dir_fd=folder, effective_ids=True, follow_symlinks=False)

    @_named
    def may_write(self, path: str) -> bool:
        """Whether this user may change names in the folder."""
        return os.access(".", os.W_OK | os.X_OK, dir_fd=self.folder(path))

    @_named
    def place(self, path: str, name: str, folder: int) -> None:
        """Move the entry ``name`` from another folder to the path, replacing anything there but a folder."""
        onto, new_name = self._at(path)
        os.replace(name, new_name, src_dir_fd=folder, dst_dir_fd=onto)

    @_named
    def unlink(self, path: str) -> None:
        """Remove a file or link, if it exists."""
        folder, name = self._at(path)
        try:
            os.unlink(name, dir_fd=folder)
        except FileNotFoundError:
            return

    @_named
    def remove_folder(self, path: str) -> None:
        """Remove an empty folder."""
        self.forget(path)
        folder, name = self._at(path)
        os.rmdir(name, dir_fd=folder)

    def _at(self, path: str) -> tuple[int, str]:
        return self.folder(parent_of(path)), path[path.rfind("/") + 1 :]

    def _unlock(self, descriptor: int) -> None:
        if self._unlocks:
            status = os.fstat(descriptor)
            mode = stat.S_IMODE(status.st_mode)
            if workable(mode) != mode and status.st_uid == os.geteuid():
                _set_mode(descriptor, workable(mode))


def _set_mode(descriptor: int, mode: int) -> None:
    # fchmod does not accept O_PATH descriptors, and any other needs the right to read, which may be missing.
    os.chmod(f"/proc/self/fd/{descriptor}", mode)  # noqa: PTH101 - no path of the tree
