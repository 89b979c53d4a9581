"""Random edits of a source folder: each yields one or two requests to the publisher."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

INCIDENTS = "incidents"
"""A folder at the top that no edit touches."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request to the publisher after an edit."""

    kind: str
    paths: tuple[str, ...]
    deep: bool = False
    metadata: tuple[tuple[str, str], ...] = ()


class Edits:
    """Changes a folder at random, the same way for the same seed, and yields what to ship.

    Files are created, changed, moved, deleted, and get other modes; folders (also empty ones) are created and deleted;
    files turn into folders, and folders into files and links.
    """

    def __init__(self, root: Path, rng: Random) -> None:
        self._root = root
        self._incidents = str(root / INCIDENTS)
        self._rng = rng
        self._count = 0

    def make(self, number: int) -> Iterator[tuple[Request, ...]]:
        """Make this many edits; each changes the folder before it yields its requests."""
        kinds = (self._rewrite, self._create, self._delete, self._rename, self._change_mode, self._swap, self._link)
        weights = (8, 5, 3, 4, 1, 2, 1)
        for _ in range(number):
            self._count += 1
            (edit,) = self._rng.choices(kinds, weights)
            yield edit()

    def _rewrite(self) -> tuple[Request, ...]:
        path = self._file()
        path.chmod(0o644)
        with path.open("ab") as file:
            file.write(f"\n# edit {self._count}\n".encode() * self._rng.randint(1, 200))
        return (Request("add", (self._name(path),)),)

    def _create(self) -> tuple[Request, ...]:
        folder = self._root / f"new-{self._count}-ünïcode"
        folder.mkdir()
        (folder / "empty").mkdir()
        for index in range(self._rng.randint(1, 4)):
            (folder / f"file {index}.txt").write_text(f"made by edit {self._count}\n" * self._rng.randint(1, 3000))
        return (Request("add", (self._name(folder),), deep=True),)

    def _delete(self) -> tuple[Request, ...]:
        path = self._file()
        path.unlink()
        return (Request("delete", (self._name(path),)),)

    def _rename(self) -> tuple[Request, ...]:
        path = self._file()
        moved = path.with_name(f"moved-{self._count}-{path.name[-60:]}")
        path.rename(moved)
        return Request("add", (self._name(moved),)), Request("delete", (self._name(path),))

    def _change_mode(self) -> tuple[Request, ...]:
        path = self._file()
        path.chmod(self._rng.choice((0o444, 0o600, 0o755)))
        return (Request("add", (self._name(path),)),)

    def _swap(self) -> tuple[Request, ...]:
        """Turn a file into a folder, or a folder made before into a file."""
        made = [path for path in sorted(self._root.glob("new-*")) if path.is_dir()]
        if made and self._rng.random() < 0.5:
            path = self._rng.choice(made)
            shutil.rmtree(path)
            path.write_text(f"a folder until edit {self._count}\n")
            return (Request("add", (self._name(path),)),)
        path = self._file()
        path.unlink()
        path.mkdir()
        (path / "inside.txt").write_text(f"a file until edit {self._count}\n")
        return (Request("add", (self._name(path),), deep=True),)

    def _link(self) -> tuple[Request, ...]:
        target = self._file()
        link = target.with_name(f"link-{self._count}")
        link.symlink_to(target.name)
        return (Request("add", (self._name(link),)),)

    def _file(self) -> Path:
        found = sorted(
            os.path.join(folder, name)  # noqa: PTH118 - two thousand times per edit
            for folder, _, names in os.walk(self._root)
            if folder != self._incidents
            for name in names
        )
        while (path := Path(self._rng.choice(found))).is_symlink():
            pass
        return path

    def _name(self, path: Path) -> str:
        return f"/{path.relative_to(self._root)}"
