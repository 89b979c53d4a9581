"""The program in docs/outbox.md runs as it is written there, and its numbers are those of the code."""

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from callboard import Callboard
from callboard.board.jobs.outbox.checkup import WAIT_MAX_S
from callboard.board.jobs.outbox.outbox import WINDOW, Outbox
from callboard.testing.servers.postgres import postgres_server
from tests.e2e.conftest import DEADLINE_S, Terminal

TEXT = (Path(__file__).resolve().parents[3] / "docs" / "outbox.md").read_text(encoding="utf-8")
[(NAME, PROGRAM)] = re.findall(r"^```python file=(\S+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
COMMANDS = [line.split()[1:] for line in re.findall(r"^\$ (callboard .*)$", TEXT, re.MULTILINE)]


@pytest.mark.postgres
def test_the_program_of_the_document_adds_a_job_for_each_order_that_is_committed(terminal: Terminal) -> None:
    (terminal.folder / NAME).write_text(PROGRAM)
    with postgres_server() as server:
        create, relay = ([*command[:-1], server.url] for command in COMMANDS)
        terminal.run(*create)
        terminal.start(*relay, said="relay.txt")
        program = [sys.executable, NAME, server.url]
        done = subprocess.run(
            program, cwd=terminal.folder, capture_output=True, text=True, timeout=DEADLINE_S, check=True
        )
        assert done.stdout == "1 was ordered before\n"
        deadline = time.monotonic() + DEADLINE_S
        while len(jobs := terminal.json("jobs")["items"]) < 2:
            assert time.monotonic() < deadline
        assert [job["unique"] for job in jobs] == ["order-1", "order-2"]
        terminal.end()


def test_the_numbers_and_the_calls_of_the_document_are_those_of_the_code() -> None:
    assert f"only within {WINDOW:,} records" in TEXT
    assert WAIT_MAX_S == 60
    assert "more than a minute" in TEXT
    jobs = Callboard("memory:").jobs
    assert [call for call in re.findall(r"board\.jobs\.(\w+)", TEXT) if not hasattr(jobs, call)] == []
    assert isinstance(jobs.outbox("postgresql://shop@localhost/shop"), Outbox)
