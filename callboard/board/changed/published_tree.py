"""What the log says that a publisher's tree is: a fold over packages, kept by folder.

The same rules as in ``read/expected_tree.py``, for a publisher instead of a subscriber, and for trees of which only a
few folders are looked at: the others stay encoded.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from callboard.backends.repositories.paths import parent_of, with_parents
from callboard.content.package_format.manifest import Form, ManifestEntry
from callboard.content.placed import within
from callboard.messages.distribution.topic_messages import Kind, PackageMessage

REQUESTS_MAX = 1000
"""Request ids that are remembered: a request is repeated soon, or never."""

FOLDERS = (Form.FOLDER, Form.KEEP)


class Row(NamedTuple):
    """An entry of a folder; ``content`` is the digest of a file, or the target of a link."""

    form: int
    mode: int
    content: str = ""


class KnownFolder:
    """A folder on the log, by the name of each entry, and what is known of the same folder on disk.

    ``stamp`` is the state of the disk folder when it last equalled the log, or empty; ``files`` and links, and their
    ``size`` in bytes, are counts at that time. ``hashed`` has the digests of files by name, each
    with the state of the file.
    """

    __slots__ = ("_encoded", "_parts", "files", "size", "stamp")

    def __init__(self, stamp: str = "", files: int = 0, size: int = 0, encoded: bytes = b"{}\t{}") -> None:
        self.stamp, self.files, self.size = stamp, files, size
        self._encoded = encoded
        self._parts: tuple[dict[str, Row], dict[str, list[Any]]] | None = None

    @property
    def rows(self) -> dict[str, Row]:
        """The entries on the log. An empty name stands for the root itself."""
        return self._decoded()[0]

    @property
    def hashed(self) -> dict[str, list[Any]]:
        """For each file: its size, times and inode, and the digest."""
        return self._decoded()[1]

    def _decoded(self) -> tuple[dict[str, Row], dict[str, list[Any]]]:
        if self._parts is None:
            rows, hashed = map(json.loads, self._encoded.split(b"\t"))
            self._parts = {name: Row(*row) for name, row in rows.items()}, hashed
        return self._parts

    def encode(self, path: str) -> bytes:
        """The folder as a line."""
        if self._parts is not None:
            self._encoded = b"\t".join(json.dumps(part).encode() for part in self._parts)
        return f"{json.dumps(path)}\t{self.stamp}\t{self.files}\t{self.size}\t".encode() + self._encoded

    @staticmethod
    def decode(line: bytes) -> "tuple[str, KnownFolder]":
        """The path and the folder of a line. Raises ``ValueError``."""
        path, stamp, files, size, encoded = line.split(b"\t", 4)
        return json.loads(path), KnownFolder(stamp.decode(), int(files), int(size), encoded)


@dataclass(slots=True)
class PublishedTree:
    """The tree of one publisher and source at and below ``root``.

    Below a path in ``whole`` everything is known, by the package at this offset and later ones; below one in ``doubts``
    it is not, for this reason. ``requests`` are the offsets of packages by the ids of their requests. ``offset`` is the
    last package that touched the tree, -1 for none.
    """

    root: str
    publisher: str
    source: str
    folders: dict[str, KnownFolder] = field(default_factory=dict)
    whole: dict[str, int] = field(default_factory=dict)
    doubts: dict[str, str] = field(default_factory=dict)
    requests: dict[str, int] = field(default_factory=dict)
    offset: int = -1

    def add(self, message: PackageMessage, entries: Iterable[ManifestEntry] | None, offset: int) -> None:
        """Add the next package; ``entries`` is None for an ADD whose manifest cannot be read."""
        if message.publisher == self.publisher and message.request_id:
            self.requests[message.request_id] = offset
            if len(self.requests) > REQUESTS_MAX:
                del self.requests[next(iter(self.requests))]
        if not self.touched_by(message):
            return
        self.offset = offset
        if why := self._doubt(message, known=entries is not None):
            for path in self._inside(message.paths):
                self.doubts[path] = f"offset {offset} {why}"
                self.folder(parent_of(path))
            return
        for path in self._inside(message.paths if message.kind is Kind.DELETE else message.deep_paths):
            self._replace(path, offset)
        for entry in entries or ():
            if entry.form is not Form.GONE and within(entry.path, self.root):
                self._put(entry)

    def unreadable(self, reason: str) -> None:
        """Add a record that may be a package of anything."""
        self.doubts[self.root] = reason

    def touched_by(self, message: PackageMessage) -> bool:
        """Whether the package changes something in the tree."""
        return message.kind in (Kind.ADD, Kind.DELETE) and any(True for _ in self._inside(message.paths))

    def problem(self, paths: Iterable[str], first: int) -> str:
        """Why the log, which begins at ``first``, does not say what is at and below these paths; empty if it does."""
        for path in paths:
            for at, why in self.doubts.items():
                if within(at, path) or within(path, at):
                    return why
            above = max(self.whole.keys() & with_parents([path]), default=None)  # the nearest is the longest
            if above is None:
                return f"no package on the log has all of {path}"
            if self.whole[above] < first:
                return f"the log is trimmed, and with it offset {self.whole[above]}, the last that had all of {above}"
        return ""

    def folder(self, path: str) -> KnownFolder:
        """The folder at this path, empty if the log has none. All above it are there, too."""
        if path not in self.folders:
            self.folders |= {at: KnownFolder() for at in with_parents([path]) if at not in self.folders}
        return self.folders[path]

    def row(self, path: str) -> Row | None:
        """The entry at this path."""
        parent, name = place_of(path)
        return self.folders[parent].rows.get(name) if parent in self.folders else None

    def _doubt(self, message: PackageMessage, *, known: bool) -> str:
        if message.publisher != self.publisher:
            return f"is by publisher {message.publisher!r}, which wrote to the same paths"
        if message.recipients:
            return f"is for {', '.join(message.recipients)} alone"
        if message.kind is Kind.DELETE:
            return ""
        if message.source != self.source:
            return f"is from another source, {message.source!r}"
        return "" if known else "cannot be read"

    def _inside(self, paths: Iterable[str]) -> Iterator[str]:
        """What of the paths lies in the tree: themselves, or all of it."""
        for path in paths:
            if within(path, self.root):
                yield path
            elif within(self.root, path):
                yield self.root

    def _replace(self, path: str, offset: int) -> None:
        """All at and below the path is now what the package at this offset says, which is still to be added."""
        if path in self.folders:  # else nothing below it is known: thousands of single files are quickly added
            self.whole = {at: by for at, by in self.whole.items() if not within(at, path)}
            self.doubts = {at: why for at, why in self.doubts.items() if not within(at, path)}
        self._remove(path)
        self.whole[path] = offset
        self.doubts.pop(path, None)
        self.folder(parent_of(path))

    def _remove(self, path: str) -> None:
        row, (parent, name) = self.row(path), place_of(path)
        if path in self.folders:
            self.folders = {at: each for at, each in self.folders.items() if not within(at, path)}
        if row is not None and parent in self.folders:
            self.folders[parent].rows.pop(name, None)
            self.folders[parent].stamp = ""

    def _put(self, entry: ManifestEntry) -> None:
        before = self.row(entry.path)
        was_folder = before is not None and before.form in FOLDERS
        if entry.form is Form.KEEP and was_folder:
            return
        form = Form.FILE if entry.form is Form.BLOB else entry.form
        if was_folder and form not in FOLDERS:
            self._remove(entry.path)
        parent, name = place_of(entry.path)
        folder = self.folder(parent)
        folder.rows[name] = Row(int(form), entry.mode, entry.digest or entry.target)
        folder.stamp = ""


def place_of(path: str) -> tuple[str, str]:
    """The folder that an entry is in, and its name there; the root has an empty one."""
    return parent_of(path), path.rpartition("/")[2]
