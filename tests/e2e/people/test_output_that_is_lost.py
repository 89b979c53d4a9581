"""Standard output cannot be written: a command reports on standard error what it did, and the exit code says so."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from callboard.cli.terminal.exit_codes import OK, OUTPUT_LOST
from tests.warm_start import WarmStart


@pytest.fixture
def board(tmp_path: Path, warm_start: WarmStart) -> Path:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("hello")
    for words in (("init",), ("publish", "site")):
        assert warm_start.run(words, tmp_path, os.environ, "", 120).returncode == OK
    return tmp_path


def shell(folder: Path, script: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = f'callboard() {{ "{sys.executable}" -m callboard "$@"; }}; {script}'
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"} | environ
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("environ", [{}, {"PYTHONUNBUFFERED": "1"}], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("to", [">/dev/full", ">&-"])
@pytest.mark.parametrize("words", ["publish site", "publish site --json", "delete /index.html", "test"])
def test_a_command_that_shipped_reports_it_on_standard_error(board, words, to, environ):
    done = shell(board, f"callboard {words} {to}", **environ)
    assert done.returncode == OUTPUT_LOST
    assert "standard output cannot be written" in done.stderr
    assert "offset" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("to", [">/dev/full", ">&-"])
@pytest.mark.parametrize("words", ["--version", "--help", "log --help", "status", "status --json", "log list"])
def test_a_command_that_only_shows_something_reports_why_it_failed(board, words, to):
    done = shell(board, f"callboard {words} {to}")
    assert done.returncode == OUTPUT_LOST
    assert done.stderr.startswith("error: standard output cannot be written: ")
    assert len(done.stderr.splitlines()) == 1


def test_a_reader_that_closes_the_pipe_gets_no_error(board):
    many = "for n in 1 2 3 4; do callboard log export --ndjson - ; done"
    done = shell(board, f"({many}) | head -c 1 >/dev/null; callboard status | true; exit ${{PIPESTATUS[0]}}")
    assert done.returncode in (OK, OUTPUT_LOST)  # whether true has gone before the status comes
    assert "error" not in done.stderr
    assert "Traceback" not in done.stderr


def test_a_closed_or_full_standard_error_does_not_end_a_command(board):
    done = shell(board, "callboard publish site --full --wait 0 2>/dev/full; callboard queue nobody 2>&-; echo $?")
    assert "is at offset 2" in done.stdout
    assert done.stdout.endswith("2\n")


def test_no_file_of_the_log_gets_the_descriptor_of_a_closed_stream(board):
    done = shell(board, "callboard publish site <&- >&- 2>&-; callboard log list --json")
    assert done.returncode == OK
    assert '"offset": 2' in done.stdout
