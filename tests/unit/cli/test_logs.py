"""What is logged to a terminal: text of others is escaped, and quiet commands do without structlog until they log."""

import sys

import pytest
import structlog

from callboard.cli.terminal.log_setup import configure_logging, log_quietly
from callboard.logger import Logger, get_logger


@pytest.fixture(autouse=True)
def _nothing_is_left(monkeypatch):
    monkeypatch.setattr(Logger, "configure", None)


def test_names_and_errors_are_escaped_and_a_traceback_follows_separately(capsys):
    configure_logging("info", "pretty")
    try:
        raise ValueError("no\x1b[31m\n2026-01-01 [info] all is well")
    except ValueError:
        line = structlog.get_logger().bind(subscriber="edge\x1b[2J\n\u202e", paths=("/\x9b",), tries=3)
        line.exception("package\x1b.failed")
    output = capsys.readouterr().err
    assert all(line.isprintable() for line in output.split("\n"))
    assert "subscriber=edge\\u001b[2J\\n\\u202e" in output
    assert "tries=3" in output
    assert "\n  | 2026-01-01 [info] all is well" in output


def test_a_quiet_command_shows_only_errors(capsys):
    log_quietly("json")
    get_logger(a=1).info("thing.done")
    assert Logger.configure is not None, "to set structlog up takes time, and nothing is to be shown"
    get_logger(a=1).bind(b=2).error("thing.failed")
    output = capsys.readouterr().err
    assert '"event": "thing.failed"' in output
    assert '"b": 2' in output
    assert "thing.done" not in output
    assert "structlog" in sys.modules
