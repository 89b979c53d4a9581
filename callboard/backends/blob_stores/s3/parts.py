"""Content cut into parts of the size that is uploaded at once."""

import hashlib
from collections.abc import Iterable

from callboard.errors import PackageCorrupt

PART_BYTES = 8 << 20
"""Content of up to this size goes in one request, larger content in parts of this size."""


class Parts:
    """Reads the chunks, which block: for use in threads, one at a time.

    ``ended`` tells whether the last part has been read.
    """

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._rest = memoryview(b"")
        self._found = hashlib.sha256()
        self.ended = False

    def read(self) -> bytes:
        """The next part: full, unless it is the last one. Raises what the chunks raise."""
        pieces: list[memoryview] = []
        missing = PART_BYTES
        self._look_ahead()
        while missing and not self.ended:
            piece, self._rest = self._rest[:missing], self._rest[missing:]
            pieces.append(piece)
            missing -= len(piece)
            self._look_ahead()
        return b"".join(pieces)

    def check(self, digest: str) -> None:
        """Raise ``PackageCorrupt`` unless what has been read has this sha-256."""
        if self._found.hexdigest() != digest:
            raise PackageCorrupt(f"the content has the digest {self._found.hexdigest()} instead of {digest}")

    def _look_ahead(self) -> None:
        """Have a rest, or know that there is none."""
        while not self._rest and not self.ended:
            chunk = next(self._chunks, None)
            if chunk is None:
                self.ended = True
            else:
                self._found.update(chunk)
                self._rest = memoryview(chunk)
