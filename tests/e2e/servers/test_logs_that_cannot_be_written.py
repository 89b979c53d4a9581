"""Standard error is on a full disk: a service continues without its log."""

import subprocess
from pathlib import Path

import pytest


@pytest.mark.parametrize("runtime", ["embedded", "processes"])
def test_a_subscriber_imports_although_its_log_cannot_be_written(terminal, runtime: str) -> None:
    terminal.run("publish", "./site")
    words = ("run", "subscriber", "edge-1", "--into", "./out", "--runtime", runtime, "--until-caught-up", "--verbose")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            terminal._command(words), cwd=terminal.folder, env=terminal._environ, stdout=subprocess.PIPE, stderr=full,
            text=True, timeout=60, check=False,
        )  # fmt: skip
    assert "is caught up" in done.stdout
    assert (terminal.folder / "out" / "index.html").read_text() == "welcome to the theatre"
