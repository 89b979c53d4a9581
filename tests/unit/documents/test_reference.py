"""docs/reference.md says what the code does: every setting, command, exit code and state, in the same words."""

import ast
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
import typer
from pydantic import BaseModel

from callboard.cli.app import app
from callboard.cli.terminal import exit_codes
from callboard.config import Config
from callboard.messages.distribution.fleet_mail import Liveness
from callboard.messages.distribution.topic_messages import State

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")

LEVELS = ("info", "warning", "error")
EVENT = re.compile(r"[a-z_]+\.[a-z_]+")


def settings(model: type[BaseModel], *section: str) -> Iterator[str]:
    """The row of each setting."""
    for name, field in model.model_fields.items():
        if isinstance(field.default, BaseModel):
            yield from settings(type(field.default), *section, name)
        elif name not in ("subscribers", "publishers", "relays"):
            default = list(field.default) if isinstance(field.default, tuple) else field.default
            shown = "none" if default is None else f"`{json.dumps(default)}`"
            yield f"| `{'.'.join((*section, name))}` | {shown} | {field.description} |"


def commands(group, *words: str) -> Iterator[str]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, *words, name)
        else:
            yield " ".join(("callboard", *words, name))


def test_the_settings_are_documented_with_defaults_and_meaning():
    table = TEXT.partition("| key | default | meaning |\n|---|---|---|\n")[2].partition("\n\n")[0]
    assert table.splitlines() == list(settings(Config))


@pytest.mark.parametrize("command", list(commands(typer.main.get_command(app))))
def test_every_command_is_documented(command):
    assert f"`{command}" in TEXT


def test_every_exit_code_is_documented():
    codes = {value for name, value in vars(exit_codes).items() if name.isupper() and isinstance(value, int)}
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", TEXT, re.MULTILINE)} == codes


def test_every_state_and_liveness_is_documented():
    for name in (*State.__members__, *Liveness.__members__):
        assert f"| `{name.lower()}` |" in TEXT


def constants(nodes: Iterable[ast.AST]) -> set[str]:
    inner = (each.value for node in nodes for each in ast.walk(node) if isinstance(each, ast.Constant))
    return {value for value in inner if isinstance(value, str)}


def lines_logged() -> Iterator[tuple[str, set[str]]]:
    """The name of each line that is logged, and the levels that it may have as far as the call tells."""
    for path in (ROOT / "callboard").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called not in (*LEVELS, "note"):
                continue
            level = [*node.args[1:2], *(word.value for word in node.keywords if word.arg == "level")]
            levels = {called} if called in LEVELS else (constants(level) or set(LEVELS)) if level else {"info"}
            yield from ((name, levels) for name in constants(node.args[:1]) if EVENT.fullmatch(name))


def test_documented_log_lines_are_logged_and_every_error_is_documented():
    rows = re.findall(r"^\| (info|warning|error) \| (.*?) \|", TEXT, re.MULTILINE)
    told = {(name, level) for level, names in rows for name in re.findall(r"`(.*?)`", names)}
    logged = list(lines_logged())
    assert len(told) > 30
    assert told <= {(name, level) for name, levels in logged for level in levels}
    errors = {name for name, levels in logged if levels == {"error"}}
    assert errors <= {name for name, level in told if level == "error"}
