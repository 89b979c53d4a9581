"""docs/reference.md says what the code does: every setting, command, exit code and state, in the same words."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from pydantic import BaseModel

from callboard.cli import exit_codes
from callboard.cli.app import app
from callboard.config import Config
from callboard.messages.distribution import State
from callboard.messages.mailbox import Liveness

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "reference.md").read_text(encoding="utf-8")


def settings(model: type[BaseModel], *section: str) -> Iterator[str]:
    """The row of each setting."""
    for name, field in model.model_fields.items():
        if isinstance(field.default, BaseModel):
            yield from settings(type(field.default), *section, name)
        elif name != "subscribers":
            default = list(field.default) if isinstance(field.default, tuple) else field.default
            shown = "none" if default is None else f"`{json.dumps(default)}`"
            yield f"| `{'.'.join((*section, name))}` | {shown} | {field.description} |"


def commands(group, *words: str) -> Iterator[str]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, *words, name)
        else:
            yield " ".join(("callboard", *words, name))


def test_the_settings_are_told_with_their_defaults_and_their_meaning():
    table = TEXT.partition("| key | default | meaning |\n|---|---|---|\n")[2].partition("\n\n")[0]
    assert table.splitlines() == list(settings(Config))


@pytest.mark.parametrize("command", list(commands(typer.main.get_command(app))))
def test_every_command_is_told(command):
    assert f"`{command}" in TEXT


def test_every_exit_code_is_told():
    codes = {value for name, value in vars(exit_codes).items() if name.isupper() and isinstance(value, int)}
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", TEXT, re.MULTILINE)} == codes


def test_every_state_and_every_liveness_is_told():
    for name in (*State.__members__, *Liveness.__members__):
        assert f"| `{name.lower()}` |" in TEXT
