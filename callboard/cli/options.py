"""The options of every command, given before or after its name."""

import inspect
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec

import typer

from callboard.cli.terminal.document import one_document

if TYPE_CHECKING:  # each command imports this module, also for its help
    from callboard.config import Loaded, Value

P = ParamSpec("P")
PANEL = "Options of every command"

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Create = Annotated[bool, typer.Option("--create", help="Create the board if it does not exist.")]


def _given(value: str | None) -> str | None:
    if value == "":
        raise typer.BadParameter("it is empty; name the instance, or leave --member out")  # a variable may not be set
    return value


Member = Annotated[
    str | None,
    typer.Option(
        "--member", metavar="ID", help="Join the cluster as this instance.", show_default=False, callback=_given
    ),
]
Listen = Annotated[
    str | None,
    typer.Option(
        "--listen", "--metrics-port", metavar="[HOST:]PORT", help="Serve /metrics, /livez, /readyz and /healthz here.",
        show_default=False,
    ),
]  # fmt: skip
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
PublisherName = Annotated[str, typer.Option("--publisher", metavar="NAME", help="Only this publisher.")]
After = Annotated[str, typer.Option("--after", metavar="CURSOR", help="The page after the one with this cursor.")]
Limit = Annotated[int, typer.Option(min=0, max=1000, help="Show at most this many.")]


@dataclass(frozen=True, slots=True)
class BoardOptions:
    """The values of the options of every command."""

    config: Path | None = None
    log: str | None = field(default=None, repr=False)
    blobs: str | None = field(default=None, repr=False)
    verbose: bool = False

    def load(self, *flags: "Value") -> "Loaded":
        """The configuration with these options and a command's own. Raises ``ConfigError``, also for a log in memory,
        which no other process could ever read.
        """
        from callboard.config import Value, load
        from callboard.errors import ConfigError

        own = (Value(("log",), self.log, "--log"), Value(("blobs",), self.blobs, "--blobs"))
        loaded = load(self.config, os.environ, (*own, *flags))
        if loaded.config.log.startswith("memory:"):
            raise ConfigError(
                "a log in memory would be lost at the end of this command; set log to one that persists, "
                "such as sqlite:///./board.db"
            )
        return loaded


def board_options(
    context: typer.Context,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", envvar="CALLBOARD_CONFIG", help="Default: ./callboard.toml.", rich_help_panel=PANEL
        ),
    ] = None,
    log: Annotated[
        str | None, typer.Option(metavar="URL", help="The log, such as sqlite:///./board.db.", rich_help_panel=PANEL)
    ] = None,
    blobs: Annotated[
        str | None,
        typer.Option(metavar="PLACE", help="The blob store: a folder, or s3://BUCKET.", rich_help_panel=PANEL),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Log to standard error.", rich_help_panel=PANEL)
    ] = False,
) -> BoardOptions:
    """The options given after the command's name, else those before it."""
    root = context.find_root()
    before: BoardOptions = root.obj or BoardOptions()
    said = BoardOptions(config or before.config, log or before.log, blobs or before.blobs, verbose or before.verbose)
    root.obj = said
    return said


def with_board_options(command: Callable[Concatenate[BoardOptions, P], None]) -> Callable[..., None]:
    """The command for Typer: with the options of every command in place of its first parameter."""
    own = list(inspect.signature(command).parameters.values())[1:]
    shared = list(inspect.signature(board_options).parameters.values())

    def call(**said: Any) -> None:
        with one_document(wanted=bool(said.get("json"))):
            _demand_paths(said.values())
            options = board_options(**{parameter.name: said.pop(parameter.name) for parameter in shared})
            command(options, **said)  # type: ignore[call-arg]  # Typer passes what the signature below says

    parameters = [parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in (*own, *shared)]
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    call.__name__, call.__doc__ = command.__name__, command.__doc__
    return call


def _demand_paths(said: Iterable[object]) -> None:
    """Raise ``ConfigError`` for an address given as a path: a folder of that name would be created."""
    for path in (str(value) for value in said if isinstance(value, Path)):
        if set(path) & set(":=%") or not path.isascii():
            from callboard.backends.address import demand_path

            demand_path(path)
