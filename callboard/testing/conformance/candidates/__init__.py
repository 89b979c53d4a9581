"""The backends under test: callboard's own, with the servers they need, and any that a URL names."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from callboard.errors import ConfigError

H = TypeVar("H")

New = Callable[[], AbstractContextManager[H]]
"""Makes a harness over an empty backend, for one check, and cleans up after it."""


@dataclass(frozen=True, slots=True)
class Candidate(Generic[H]):
    """A backend under test.

    Attributes:
        name: its column in the matrix.
        start: starts what it needs, such as a server, for the duration of the context; raises why it cannot.
    """

    name: str
    start: Callable[[], AbstractContextManager[New[H]]]


def without_server(name: str, new: New[H]) -> Candidate[H]:
    """A candidate that needs no server."""

    @contextmanager
    def start() -> Iterator[New[H]]:
        yield new

    return Candidate(name, start)


def chosen(
    candidates: Sequence[Candidate[H]],
    only: Sequence[str],
    postgres: Callable[[int], Candidate[H]] | None = None,
) -> list[Candidate[H]]:
    """The candidates with these names, or all if none are given; with ``postgres``, also another version of it.

    Raises ``ConfigError`` for an unknown name.
    """
    by_name = {candidate.name: candidate for candidate in candidates}
    found = []
    for name in only or by_name:
        version = re.fullmatch(r"postgres-(\d+)", name)
        if name in by_name:
            found.append(by_name[name])
        elif version and postgres:
            found.append(postgres(int(version[1])))
        else:
            raise ConfigError(f"there is no {name!r} to be tested; choose from {', '.join(by_name)}")
    return found
