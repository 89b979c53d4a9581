"""What a page is: where it is, what it is asked, and how it gets to the browser."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from callboard.door.rules import shown
from callboard.errors import LogUnavailable, RequestRefused
from callboard.web.console.watch import Snapshot
from callboard.web.user import User

if TYPE_CHECKING:
    from callboard.board.board import Callboard

WHOLE_MAX = 1 << 62

ANSWER_S = 5.0
"""How long a page waits for an answer of the board."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a page is asked.

    ``path`` has the parts of its path by their names, ``query`` what follows the question mark, ``now`` is the newest
    reading of the board. ``acts``: the user may command; ``base`` is the path at which the console is mounted.
    """

    board: "Callboard"
    now: Snapshot
    user: User
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    acts: bool = False
    base: str = ""

    @property
    def reading(self) -> Snapshot:
        """The newest reading. Raises ``LogUnavailable`` if there never was one: then nothing can be said."""
        if not self.now.time_ns:
            raise LogUnavailable(self.now.problem or "the log has not been read yet; try again in a moment")
        return self.now

    def text(self, name: str, most: int = 1000) -> str:
        """A value of the query; empty if not given. Raises ``RequestRefused`` if it is longer than ``most``."""
        value = self.query.get(name, "").strip()
        if len(value) > most:
            raise RequestRefused(f"{name} has {len(value)} characters; {most} is the most", code="too_large")
        return value

    def whole(self, name: str, default: int, most: int = WHOLE_MAX) -> int:
        """A whole number from 0 on of the query. Raises ``RequestRefused`` if it is none, or above ``most``."""
        text = self.text(name)
        return _whole(name, text, most) if text else default

    def choice(self, name: str, choices: Collection[str], default: str = "") -> str:
        """A value of the query that is one of these words. Raises ``RequestRefused`` for another one."""
        value = self.text(name) or default
        if value and value not in choices:
            raise RequestRefused(f"{name} is {shown(value)}, but should be one of {', '.join(choices)}", code="invalid")
        return value

    def number(self, name: str) -> int:
        """The part of the path that is a whole number. Raises ``RequestRefused`` for another one."""
        return _whole(name, self.path[name], WHOLE_MAX)


def _whole(name: str, text: str, most: int) -> int:
    digits = text.isascii() and text.isdigit() and len(text) <= len(str(WHOLE_MAX))
    if not digits or int(text) > most:
        message = f"{name} is {shown(text)}, but should be a whole number from 0 to {most}"
        raise RequestRefused(message, code="invalid")
    return int(text)


Shown = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Page:
    """A page at ``path``, drawn by the template ``pages/NAME.html`` from what ``show`` returns.

    ``title`` is its name in the navigation, if ``in_navigation``. A page that is ``live`` is drawn again after each
    reading of the board, and sent to those who have it open; but not if its query has one of the names in ``still``:
    then it searches the log, or shows a part of the past. Pages that ``search`` do so one after the other.
    """

    name: str
    path: str
    title: str
    show: Callable[[Question], Awaitable[Shown]]
    in_navigation: bool = True
    live: bool = True
    still: frozenset[str] = frozenset()
    searches: bool = False

    def is_live(self, query: Mapping[str, str]) -> bool:
        """Whether it is kept up to date for this query."""
        return self.live and self.still.isdisjoint(name for name, value in query.items() if value)
