"""Commands that are imported only when run: a group knows the name, place and help line of each."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from callboard.cli.options import with_board_options
from callboard.cli.terminal.streams import OutputLost

OPTIONS = "Options"


class Entry(NamedTuple):
    """A command's place, as ``module:function`` below ``callboard.cli``, and the first line of its docstring.

    ``changes`` means that it changes something, so what it did is reported even if its output cannot be written;
    ``board`` that it takes the options of every command.
    """

    place: str
    help: str
    changes: bool = False
    board: bool = True

    def function(self) -> Callable[..., Any]:
        """The function behind the command; imports it."""
        module, _, name = self.place.partition(":")
        function: Callable[..., Any] = getattr(import_module(f"callboard.cli.{module}"), name)
        command = with_board_options(function) if self.board else function
        return _output_is_missed()(command) if self.changes else command


@contextmanager
def _output_is_missed() -> Iterator[None]:
    """Mark lost output as missed: what this command did must be reported even if its output is not read."""
    try:
        yield
    except OutputLost as lost:
        lost.is_missed = True
        raise


def _as_said(param: Any, process: Callable[[Any, Any], Any], ctx: Any, value: Any) -> Any:
    """The value of a parameter, without conversion where none is needed: nothing, a default, or text. Typer would
    convert these too, with pydantic, which is slow to import.
    """
    is_default = value is None or value is param.default
    if (is_default and not param.required) or (param.type_descriptor.annotation is str and isinstance(value, str)):
        value = () if value is None and (param.multiple or param.nargs == -1) else value
        return value if param.callback is None else param.callback(ctx, param, value)
    return process(ctx, value)


class _Lean:
    """The common base of commands and groups."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, made to convert only what needs it."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]  # Typer's, see the classes below
        for param in params:
            if "process_value" not in vars(param):
                param.process_value = partial(_as_said, param, param.process_value)
        return params


class Command(_Lean, TyperCommand):
    """A command with plain text help: rich would take ``[...]`` for markup, and is slow to import."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The parameters, in the sections that their panels name."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            if record := param.get_help_record(ctx):
                usual = "Arguments" if param.param_type_name == "argument" else OPTIONS
                sections.setdefault(getattr(param, "rich_help_panel", None) or usual, []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


class Stub(TyperCommand):
    """A command that is not imported yet; enough for the help and the completion of its group."""

    def __init__(self, name: str, entry: Entry) -> None:
        super().__init__(name, help=entry.help, rich_markup_mode=None)
        self.entry = entry

    def make_context(self, *args: Any, **options: Any) -> Any:
        """The context of the command itself, to run it or ask it for help or completion."""
        return self.command().make_context(*args, **options)

    def command(self) -> Command:
        """The command itself; imports it."""
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(self.name, cls=Command)(self.entry.function())
        command = typer.main.get_command(app)
        assert isinstance(command, Command)
        return command


class Group(_Lean, TyperGroup):
    """A group of commands, which are imported when run or asked for help.

    Without the name of one of them, ``default`` runs, if the group has one. Options may come before the name.
    """

    default = ""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The arguments, with the name of the command in front: the one among them, or the default."""
        names_none = not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names)
        if names_none and ctx.parent is not None and not ctx.resilient_parsing:
            place = next((place for place, each in enumerate(args) if each in self.commands), len(args))
            name = args[place : place + 1] or ([self.default] if self.default else [])
            args = [*name, *args[:place], *args[place + 1 :]]
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed

    def add(self, commands: "Mapping[str, Entry | Group]") -> None:
        """Add these commands and groups."""
        for name, command in commands.items():
            self.commands[name] = Stub(name, command) if isinstance(command, Entry) else command

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The options, formatted as for a command, and the commands."""
        Command.format_options(self, ctx, formatter)  # type: ignore[arg-type]  # it needs only get_params
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - Typer's signature
        """Every command with its full line of help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.help or "") for name, command in self.commands.items()])


def group(help_line: str, commands: Mapping[str, Entry], default: str = "") -> Group:
    """A group of commands, with a line of help, and the command that runs without a name."""
    made = Group(help=help_line, no_args_is_help=True, rich_markup_mode=None)
    made.default = default
    made.add(commands)
    return made
