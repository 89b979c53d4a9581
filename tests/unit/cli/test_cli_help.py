"""The help of the command line, and the codes that it ends with."""

from collections.abc import Iterator
from typing import Any

import pytest
import typer

from callboard import errors
from callboard.cli.app import app
from callboard.cli.terminal import exit_codes


def commands(group: Any, *words: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, *words, name)
        else:
            yield (*words, name), command.command()


COMMANDS = dict(commands(typer.main.get_command(app)))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_and_option_has_help(words):
    command = COMMANDS[words]
    assert command.help
    assert [parameter.name for parameter in command.params if not parameter.help] == []


def stubs(group: Any, *words: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        yield from stubs(command, *words, name) if hasattr(command, "commands") else [((*words, name), command)]


STUBS = dict(stubs(typer.main.get_command(app)))


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_the_list_of_commands_shows_the_first_sentence_of_their_help(words):
    said = " ".join(COMMANDS[words].help.partition("\n\n")[0].split())
    assert STUBS[words].help == said
    assert COMMANDS[words].name == words[-1]


def test_help_is_plain_text_and_complete(capsys):
    with pytest.raises(SystemExit):
        app(["log", "trim", "--help"], prog_name="callboard")
    output = " ".join(capsys.readouterr().out.split())
    assert "by the limits given or else by [retention]." in output
    for option in ("--older-than-days", "--dry-run", "--json", "--help", "--config", "--blobs"):
        assert option in output
    assert "Options of every command:" in output


OWN_BOARD = {("demo",), ("chaos",), ("simulate",), ("pipeline", "demo"), ("topology", "demo"),
             ("jobs", "demo"), ("relay", "demo")}
"""They make a board of their own, and so need no configuration."""


@pytest.mark.parametrize("words", sorted(COMMANDS.keys() - OWN_BOARD), ids=" ".join)
def test_every_command_on_the_board_takes_its_options(words):
    options = {option for parameter in COMMANDS[words].params for option in parameter.opts}
    assert options >= {"--config", "--log", "--blobs", "--verbose"}


READS = [("status",), ("queue",), ("errors",), ("log", "list"), ("log", "show"), ("doctor",)]


@pytest.mark.parametrize("words", READS, ids=" ".join)
def test_every_reading_command_can_print_json(words):
    assert "--json" in {option for parameter in COMMANDS[words].params for option in parameter.opts}


def test_every_error_has_an_exit_code():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    codes = {kind.__name__: exit_codes.code_of(kind.__new__(kind)) for kind in kinds}
    assert codes["ConfigError"] == codes["ExtraMissing"] == codes["RequestRefused"] == exit_codes.USAGE
    assert codes["SubscriberTaken"] == codes["RepositoryBusy"] == exit_codes.TAKEN
    assert codes["LogUnavailable"] == codes["BlobMissing"] == codes["NotAnswered"] == exit_codes.UNAVAILABLE
    assert codes["RepositoryUnavailable"] == exit_codes.UNAVAILABLE
    assert codes["SchemaTooNew"] == exit_codes.TOO_NEW
