"""Patterns of names and paths, which select the wanted paths."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TypeVar

from callboard.backends.repositories.paths import parent_of, with_parents

T = TypeVar("T")

REMEMBERED = 4096
"""Cached results for a path and a pattern: the folders of a tree recur with each of their files."""


@dataclass(frozen=True, slots=True)
class PathPatterns:
    """Paths matching ``include`` (all if empty), except those matching ``exclude``; each match includes all below it.

    A pattern without ``/`` matches names at any depth, such as ``*.html``. One with ``/`` matches paths from the root,
    name by name, such as ``/blog/*.html``; in it, ``**`` stands for any number of folders.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.include or self.exclude)

    def admits(self, path: str) -> bool:
        """Whether the path is wanted; the root always is."""
        if path == "/" or not self:
            return True
        above = list(_upwards(path))
        if any(_matches(each, pattern) for pattern in self.exclude for each in above):
            return False
        return not self.include or any(_matches(each, pattern) for pattern in self.include for each in above)

    def leads(self, folder: str) -> bool:
        """Whether a path below the folder may be wanted."""
        if any(_matches(each, pattern) for pattern in self.exclude for each in _upwards(folder)):
            return False
        return self.admits(folder) or any(_may_lead(folder, pattern) for pattern in self.include)

    def whole(self, folder: str) -> bool:
        """Whether every possible path below the folder is wanted."""
        return self.admits(folder) and not self.exclude and (folder != "/" or not self.include)


def taken(leading: dict[str, T], path: str) -> Iterator[T]:
    """Pop the values deferred for the folders that lead to the path, from the top down."""
    if leading:
        for folder in sorted(with_parents([path])):
            if folder in leading:
                yield leading.pop(folder)


@lru_cache(maxsize=REMEMBERED)
def _matches(path: str, pattern: str) -> bool:
    if "/" not in pattern:
        return fnmatchcase(path.rpartition("/")[2], pattern)
    return _fits(path[1:].split("/"), _parts(pattern))


@lru_cache(maxsize=REMEMBERED)
def _may_lead(folder: str, pattern: str) -> bool:
    return folder == "/" or "/" not in pattern or _begins(folder[1:].split("/"), _parts(pattern))


def _parts(pattern: str) -> Sequence[str]:
    return pattern.strip("/").split("/")


def _fits(names: Sequence[str], parts: Sequence[str]) -> bool:
    if not parts:
        return not names
    if parts[0] == "**":
        return any(_fits(names[start:], parts[1:]) for start in range(len(names) + 1))
    return bool(names) and fnmatchcase(names[0], parts[0]) and _fits(names[1:], parts[1:])


def _begins(names: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether a matching path may begin with these names."""
    if not names or not parts:
        return bool(parts)
    return parts[0] == "**" or (fnmatchcase(names[0], parts[0]) and _begins(names[1:], parts[1:]))


def _upwards(path: str) -> Iterator[str]:
    while path != "/":
        yield path
        path = parent_of(path)
