"""A page: part of a listing, with what is needed to go through the whole."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from callboard.backends.log import Log
from callboard.door.cursors import Place, place_of

T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class AsOf:
    """When a page was true: for the records below ``offset``, -1 if that is not known, at ``time_ns``.

    ``offset`` is of the topic that the page is read from: of the statuses for failures, else that of the items.
    """

    offset: int
    time_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Generic[T_co]):
    """Part of a listing.

    ``cursor`` gets the next page; it is empty on the last one. A page may be short and yet have a cursor. ``missing``
    says what is left out, or not known yet, and why; it is empty if nothing is. ``size`` counts the items of all pages,
    as far as known; -1 if it is not.
    """

    items: tuple[T_co, ...]
    as_of: AsOf
    cursor: str = ""
    size: int = -1
    missing: str = ""

    @property
    def complete(self) -> bool:
        """Whether nothing is left out or unknown, except what other pages have. Pages that are all complete are, one
        after the other, the whole listing.
        """
        return not self.missing


async def resumed(log: Log, topic: str, cursor: str, listing: Iterable[str]) -> Place | None:
    """The place from which the cursor continues this listing; None if there is no cursor: it begins.

    Raises ``RequestRefused`` if the cursor is not one of this listing and log, ``LogUnavailable``.
    """
    if not cursor:
        return None
    return place_of(cursor, listing, await log.identity(topic), (await log.bounds(topic)).end)


def trimmed(start: int, first: int) -> str:
    """What a page says of offsets that a trim took from its listing: those from ``start`` up to ``first``."""
    return f"offsets {start} to {first - 1} are no longer on the log"
