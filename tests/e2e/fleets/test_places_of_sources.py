"""Several sources on one board, at the command line."""

import json
import os
import pty
import subprocess
from pathlib import Path

from tests.e2e.conftest import DEADLINE_S, Terminal


def tree(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and ".callboard" not in path.parts
    }


def at_a_terminal(terminal: Terminal, answer: str, *words: str) -> tuple[int, str]:
    """Run a command whose input is a terminal with a user who answers."""
    theirs, ours = pty.openpty()
    os.write(theirs, f"{answer}\n".encode())
    process = subprocess.Popen(
        terminal._command(words), cwd=terminal.folder, env=terminal._environ, stdin=ours,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    output, _ = process.communicate(timeout=DEADLINE_S)
    os.close(theirs)
    os.close(ours)
    return process.returncode, output


def test_a_second_source_does_not_remove_the_content_of_the_first(terminal):
    (terminal.folder / "other").mkdir()
    (terminal.folder / "other" / "b.txt").write_text("b")
    terminal.run("init")
    terminal.run("publish", "./site")
    terminal.run("publish", "./site")
    assert "--at /PREFIX, or add --replace-root" in terminal.refused("publish", "./other")
    assert "removes everything" in terminal.refused("delete", "/", "--publisher", "x")
    code, said = at_a_terminal(terminal, "n", "publish", "./other")
    assert (code, "replace it? [y/N]" in said) == (1, True)
    assert "callboard.toml now says" in terminal.run("publish", "./other", "--at", "/other").stderr
    terminal.run("publish", "./other")
    terminal.run("run", "subscriber", "edge-1", "--into", "./out", "--until-caught-up")
    assert tree(terminal.folder / "out") == {"index.html", "blog/a.html", "other/b.txt"}

    moved = terminal.run("publish", "./other", "--at", "/moved").stderr
    assert "what it shipped to /other stays there until it is deleted" in moved
    terminal.run("delete", "/other")
    code, said = at_a_terminal(terminal, "y", "publish", "./site")
    assert (code, "replace it? [y/N]" in said) == (0, True)
    terminal.run("run", "subscriber", "edge-1", "--into", "./out", "--until-caught-up")
    assert tree(terminal.folder / "out") == {"index.html", "blog/a.html"}


def test_a_running_publisher_refuses_a_doubtful_request_instead_of_asking(terminal):
    terminal.run("init")
    terminal.run("publish", "./site")
    requests = [
        {"kind": "add", "request_id": "1"},
        {"kind": "add", "request_id": "2", "at": "/second"},
        {"kind": "add", "request_id": "3", "replace_root": True},
        {"kind": "delete", "paths": ["/"], "request_id": "4"},
        {"kind": "add", "request_id": "5", "at": 7},
    ]
    (terminal.folder / "other").mkdir()
    (terminal.folder / "other" / "b.txt").write_text("b")
    given = "".join(json.dumps(request) + "\n" for request in requests)
    words = ("run", "publisher", "second", "--from", "./other", "--requests", "-")
    answers = [json.loads(line) for line in terminal.run(*words, given=given).stdout.splitlines()]
    assert [answer["accepted"] for answer in answers] == [False, True, True, True, False]
    assert "--replace-root" in answers[0]["reason"]
