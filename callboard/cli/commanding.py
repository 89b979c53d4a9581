"""What commands to subscribers and to the cluster have in common: their options, and that they report a result."""

from collections.abc import Callable
from inspect import Signature, signature
from typing import Annotated, Any, TypedDict

import typer

from callboard.cli.board import Work, on_board
from callboard.cli.options import BoardOptions, Json

Reason = Annotated[str, typer.Option(help="For the record.")]
Author = Annotated[str, typer.Option(metavar="WHO", help="For the record; default: you.")]
Wait = Annotated[float, typer.Option(metavar="SECONDS", min=0, help="How long to wait for the result.")]


class Said(TypedDict):
    """The options of every command, as keyword arguments of the board's methods."""

    reason: str
    author: str
    timeout_s: float


def commanding(report: Callable[..., None]) -> Callable[[Callable[..., Work[Any]]], Callable[..., None]]:
    """Make a command of a function that returns the work on the board. Its first argument is what was ``Said``, its
    others are the command's own.

    Args:
        report: shows the result, with ``json`` as JSON.
    """

    def decorate(function: Callable[..., Work[Any]]) -> Callable[..., None]:
        def command(
            options: BoardOptions,
            *,
            reason: Reason = "",
            author: Author = "",
            wait: Wait = 30.0,
            json: Json = False,
            **own: Any,
        ) -> None:
            work = function(Said(reason=reason, author=author, timeout_s=wait), **own)
            report(on_board(options, work), json=json)

        board, *shared, _ = signature(command).parameters.values()
        _, *mine = [each.replace(kind=each.KEYWORD_ONLY) for each in signature(function).parameters.values()]
        command.__signature__ = Signature([board, *mine, *shared])  # type: ignore[attr-defined]
        command.__name__, command.__doc__ = function.__name__, function.__doc__
        return command

    return decorate
