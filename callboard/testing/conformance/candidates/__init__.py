"""What the suites are run on: callboard's own backends with the servers they need, and whatever a URL names."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from callboard.errors import ConfigError

H = TypeVar("H")

New = Callable[[], AbstractContextManager[H]]
"""Makes a harness over something empty, for one check, and cleans up behind it."""


@dataclass(frozen=True, slots=True)
class Candidate(Generic[H]):
    """A backend that wants to pass.

    Attributes:
        name: its column in the matrix.
        start: starts what it needs, such as a server, for as long as the context lasts; raises what says why not.
    """

    name: str
    start: Callable[[], AbstractContextManager[New[H]]]


def without_server(name: str, new: New[H]) -> Candidate[H]:
    """A candidate that needs nothing to be started."""

    @contextmanager
    def start() -> Iterator[New[H]]:
        yield new

    return Candidate(name, start)


def chosen(
    candidates: Sequence[Candidate[H]],
    only: Sequence[str],
    postgres: Callable[[int], Candidate[H]] | None = None,
) -> list[Candidate[H]]:
    """Those with these names, or all of them without any; with ``postgres`` also another version of it.

    Raises ``ConfigError`` for a name that nobody has.
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
