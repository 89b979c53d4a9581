"""Makes functions of a board's context methods of the board."""

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from callboard.board.context import BoardContext

P = ParamSpec("P")
R = TypeVar("R")


class HasContext(Protocol):
    """A board."""

    context: BoardContext


def method(function: Callable[Concatenate[BoardContext, P], R]) -> Callable[Concatenate[HasContext, P], R]:
    """Make the function a method of the board, which passes its context as the first argument; all else stays."""

    @wraps(function)
    def call(self: HasContext, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return function(self.context, *args, **kwargs)

    its = signature(function)
    mine = Parameter("self", Parameter.POSITIONAL_ONLY), *list(its.parameters.values())[1:]
    call.__signature__ = its.replace(parameters=mine)  # type: ignore[attr-defined]  # for people: type checkers know it
    return call
