"""What the API can be asked. Tables of these make its routes and its document."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from callboard.web.api.parameters import Parameter


def _never(_: Any) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Read:
    """A question.

    Attributes:
        name: of the operation: that of the command, if there is one, with ``_`` between its words.
        path: below ``/api/v1``.
        summary: what it answers, in a line.
        answer: the type of the answer.
        ask: takes the board, and the arguments by their names.
        parameters: those in the path, and those behind the question mark.
        attention: whether an answer gets the status ``attention``.
    """

    name: str
    path: str
    summary: str
    answer: Any
    ask: "Callable[..., Awaitable[Any]]"
    parameters: tuple[Parameter, ...] = ()
    attention: Callable[[Any], bool] = _never


@dataclass(frozen=True, slots=True)
class Follow:
    """A stream of events.

    Attributes:
        name: of the operation.
        path: below ``/api/v1``.
        summary: what it tells, in a line.
        event: the type of an event.
        ask: takes the board, and the arguments by their names.
        id_of: what names the place of an event.
        after: takes what ``id_of`` gives, to go on after that event.
        parameters: all others.
    """

    name: str
    path: str
    summary: str
    event: Any
    ask: "Callable[..., AsyncGenerator[Any, None]]"
    id_of: Callable[[Any], object]
    after: Parameter
    parameters: tuple[Parameter, ...] = ()
