"""A command with --json prints one document when it ends, also if it ends by an error."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from callboard.cli.run_command import run
from callboard.cli.terminal.document import one_document
from callboard.cli.terminal.output import say, show_json, show_next, tell
from callboard.cli.terminal.streams import OutputLost
from callboard.errors import ArchiveHole, LogUnavailable, SubscriberStuck


def documents(text: str) -> list[dict[str, Any]]:
    decoder, found = json.JSONDecoder(), []
    while text := text.lstrip():
        document, end = decoder.raw_decode(text)
        text = text[end:]
        found.append(document)
    return found


def end(error: BaseException, work: Callable[[], None] = lambda: None, *, wanted: bool = True) -> None:
    """Have a command do this work and then end so."""

    def command() -> None:
        with one_document(wanted=wanted):
            work()
            raise error

    with pytest.raises(type(error)):
        command()


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (typer.Exit(0), "ok", None),
        (typer.Exit(1), "attention", None),
        (typer.Exit(2), "error", None),
        (ArchiveHole("records are lost"), "error", "archive_hole"),
        (SubscriberStuck("it is blocked"), "attention", "subscriber_stuck"),
        (typer.Abort(), "attention", "aborted"),
        (KeyboardInterrupt(), "error", None),
        (RuntimeError("a bug"), "error", "bug"),
    ],
)
def test_what_was_shown_is_printed_with_the_status_of_the_end(
    error: BaseException, status: str, code: str | None, capsys: pytest.CaptureFixture[str]
):
    end(error, lambda: show_json({"a": 1}))
    [document] = documents(capsys.readouterr().out)
    assert (document["version"], document["status"], document["data"]) == (1, status, {"a": 1})
    assert [each["code"] for each in document["diagnostics"]] == [code] * bool(code)


@pytest.mark.parametrize("error", [LogUnavailable("it is away"), typer.Abort(), RuntimeError("a bug")])
@pytest.mark.parametrize("wanted", [True, False])
def test_an_error_is_a_document_on_one_line_if_programs_want_it(
    error: Exception, wanted: bool, capsys: pytest.CaptureFixture[str]
):
    end(error, wanted=wanted)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == wanted
    for line in lines:
        assert json.loads(line)["data"] is None


def test_a_stream_that_is_interrupted_ends_without_an_envelope(capsys: pytest.CaptureFixture[str]):
    end(KeyboardInterrupt(), lambda: show_next({"a": 1}, json=True))
    assert capsys.readouterr().out == '{"a": 1}\n'


def test_what_people_are_told_is_told_to_programs_too(capsys: pytest.CaptureFixture[str]):
    with one_document(wanted=True):
        show_json([])
        say("one", "two")
        tell("advice", "three")
    out, err = capsys.readouterr()
    [document] = documents(out)
    assert err == "one\ntwo\n"
    assert [(each["code"], each["message"]) for each in document["diagnostics"]] == [
        ("note", "one"), ("note", "two"), ("advice", "three"),
    ]  # fmt: skip


def test_nothing_more_is_printed_once_the_output_is_lost(capsys: pytest.CaptureFixture[str]):
    end(OutputLost(OSError(28, "full"), ""), lambda: show_json([]))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("words", "ended", "status", "codes"),
    [
        (("status",), 0, "ok", []),
        (("jobs", "stop", "7"), 1, "attention", ["note"]),
        (("queue", "edge-9"), 2, "error", ["unknown_name"]),
        (("queue",), 2, "error", ["invalid"]),
        (("status", "--log", "sqlite:///./other.db"), 2, "error", ["config_error"]),
        (("status", "--jsno"), 2, "error", ["usage"]),
        (("jobs", "show"), 2, "error", ["usage"]),
        (("log", "list", "--topic", "x"), 2, "error", ["usage"]),
    ],
)
def test_every_end_of_a_command_is_one_envelope(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...], ended: int, status: str, codes: list[str],
):  # fmt: skip
    monkeypatch.chdir(tmp_path)
    for given, code in ((("init",), 0), (("jobs", "add", "a"), 0)):
        monkeypatch.setattr(sys, "argv", ["callboard", *given])
        assert run() == code
    capsys.readouterr()
    monkeypatch.setattr(sys, "argv", ["callboard", *words, "--json"])
    assert run() == ended
    [document] = documents(capsys.readouterr().out)
    assert (document["version"], document["status"]) == (1, status)
    assert [each["code"] for each in document["diagnostics"]] == codes
    assert (document["data"] is None) == (status == "error")
