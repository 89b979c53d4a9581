"""Cuts content into the parts of a multipart upload."""

import hashlib
from collections.abc import Iterable
from io import BytesIO

from callboard.errors import PackageCorrupt

PART_BYTES = 8 << 20
"""Content of up to this size goes in one request, larger content in parts of this size."""


class Parts:
    """Reads the chunks, which block: call it in threads, one call at a time."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._rest = memoryview(b"")
        self._found = hashlib.sha256()
        self._ended = False
        self._first: BytesIO | None = None

    def is_one(self) -> bool:
        """Whether there is only one part; it is read, and kept for ``next``."""
        self._first = self._cut()
        return self._ended

    def next(self) -> BytesIO | None:
        """The next part, full unless it is the last one; then None. Raises the errors of the chunks."""
        part, self._first = self._first, None
        if part is None and not self._ended:
            part = self._cut()
        return part

    def check(self, digest: str) -> None:
        """Raise ``PackageCorrupt`` unless the parts read so far have this sha-256."""
        if self._found.hexdigest() != digest:
            raise PackageCorrupt(f"the content has the digest {self._found.hexdigest()} instead of {digest}")

    def _cut(self) -> BytesIO:
        part = BytesIO()  # filled piece by piece: sending a BytesIO made of shared bytes copies them
        self._look_ahead()
        while not self._ended and (missing := PART_BYTES - part.tell()):
            part.write(self._rest[:missing])
            self._rest = self._rest[missing:]
            self._look_ahead()
        part.seek(0)
        return part

    def _look_ahead(self) -> None:
        """Read ahead until there is a rest, or the chunks end."""
        while not self._rest and not self._ended:
            chunk = next(self._chunks, None)
            if chunk is None:
                self._ended = True
            else:
                self._found.update(chunk)
                self._rest = memoryview(chunk)
