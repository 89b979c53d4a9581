"""The tree that is distributed: text files of realistic sizes, in folders of a hundred, and changes to it."""

import math
import os
import random
from collections.abc import Iterator
from pathlib import Path

from callboard.backends.repositories.sqlite.source import SqliteSource
from callboard.backends.repository import EntryKind

MEDIAN_BYTES, SPREAD = 4096, 1.0
"""Sizes are log-normal: the mean is 6.8 kB, one file of 360 is above 64 KiB."""
POOL_BYTES, WORDS = 4 << 20, 20_000
FOLDER_FILES = 100


class Tree:
    """A tree in a folder of its own, the same for the same number of files."""

    def __init__(self, root: Path, files: int) -> None:
        self.root, self._random = root, random.Random(files)
        words = [f"{self._random.getrandbits(32):x}" for _ in range(WORDS)]
        pool = " ".join(self._random.choices(words, k=POOL_BYTES // 8)).encode()
        self._paths = [f"{number // FOLDER_FILES}/{number}.txt" for number in range(files)]
        for path in self._paths:
            size = round(self._random.lognormvariate(math.log(MEDIAN_BYTES), SPREAD))
            start = self._random.randrange(len(pool) - size)
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(pool[start : start + size])

    def change(self) -> str:
        """Add a line to some file, and return its path."""
        path = self._random.choice(self._paths)
        with (self.root / path).open("a") as file:
            file.write(f"{self._random.getrandbits(64)}\n")
        return path

    def has_arrived(self, path: str, copy: Path) -> bool:
        """Whether the copy has this file as the tree has it."""
        if copy.is_dir():
            found = (copy / path).read_bytes()
        else:
            found = b"".join(next(SqliteSource(copy).entries(f"/{path}", deep=False)).open())
        return found == (self.root / path).read_bytes()

    def compare(self, copies: list[Path]) -> None:
        """Raise if a copy has not the same files as the tree."""
        expected = dict(contents(self.root))
        for copy in copies:
            found = dict(contents(copy))
            wrong = [path for path in expected | found if expected.get(path) != found.get(path)]
            if wrong:
                raise AssertionError(f"{copy} differs from {self.root} in {len(wrong)} files, such as {wrong[0]}")


def contents(copy: Path) -> Iterator[tuple[str, bytes]]:
    """The files of a folder or of a SQLite repository, without hidden names, which belong to the distributor."""
    if copy.is_file():
        for entry in SqliteSource(copy).entries("/", deep=True):
            if entry.kind is EntryKind.FILE:
                yield entry.path[1:], b"".join(entry.open())
        return
    for folder, folders, files in os.walk(copy):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            path = Path(folder, name)
            yield path.relative_to(copy).as_posix(), path.read_bytes()
