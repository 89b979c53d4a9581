"""Refuses to open a repository over content that callboard did not put there."""

from collections.abc import Iterable
from itertools import islice

from callboard.backends.repository import Source
from callboard.errors import RepositoryOccupied

NAMES_SHOWN = 3
"""Enough names to recognise whose folder it is."""

ADVICE = (
    "choose an empty place, or start the subscriber with --adopt, which keeps what packages do not touch, or "
    '--replace, which removes all of it (in a service: on_occupied="adopt" or "replace")'
)
"""What a subscriber can do about it."""


def refusal(where: str, names: Iterable[str]) -> RepositoryOccupied:
    """The error for the place ``where``, which holds these names."""
    first = list(islice(names, NAMES_SHOWN + 1))
    more = ", ..." if len(first) > NAMES_SHOWN else ""
    return RepositoryOccupied(
        f"{where} holds {', '.join(map(repr, first[:NAMES_SHOWN]))}{more}, which callboard did not put there, so "
        f"nothing is touched; {ADVICE}"
    )


def refuse_content(where: str, source: Source) -> None:
    """Raise ``RepositoryOccupied`` if the source, which has no ledger, holds anything but an empty root."""
    if names := [entry.path for entry in islice(source.entries("/", deep=True), 1, NAMES_SHOWN + 2)]:
        raise refusal(where, names)
