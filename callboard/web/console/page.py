"""What a page is: where it is, what it is asked, and how it gets to the browser."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from callboard.errors import RequestRefused
from callboard.web.console.watch import Snapshot
from callboard.web.user import User

if TYPE_CHECKING:
    from callboard.board.board import Callboard

WHOLE_MAX = 1 << 62


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

    def text(self, name: str, most: int = 1000) -> str:
        """A value of the query; empty if not given. Raises ``RequestRefused`` if it is longer than ``most``."""
        value = self.query.get(name, "").strip()
        if len(value) > most:
            raise RequestRefused(f"{name} has {len(value)} characters; {most} is the most", code="too_large")
        return value

    def whole(self, name: str, default: int, most: int = WHOLE_MAX) -> int:
        """A whole number from 0 on of the query. Raises ``RequestRefused`` if it is none, or above ``most``."""
        text = self.text(name, 20)
        if not text:
            return default
        if not (text.isascii() and text.isdigit()) or int(text) > most:
            raise RequestRefused(f"{name} should be a whole number from 0 to {most}", code="invalid")
        return int(text)


Shown = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Page:
    """A page at ``path``, drawn by the template ``pages/NAME.html`` from what ``show`` returns.

    ``title`` is its name in the navigation, if ``in_navigation``. A page that is ``live`` is drawn again after each
    reading of the board, and sent to those who have it open.
    """

    name: str
    path: str
    title: str
    show: Callable[[Question], Awaitable[Shown]]
    in_navigation: bool = True
    live: bool = True
