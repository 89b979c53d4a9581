"""The programs in docs/actors.md run as they are written there, and its numbers are those of the code."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from callboard.actors.entities.command_queue import DECISIONS_MAX
from callboard.actors.entities.held import LAST, WITHIN
from callboard.testing.actors.simulation.services import SERVICES
from tests.e2e.conftest import DEADLINE_S, Terminal

TEXT = (Path(__file__).resolve().parents[3] / "docs" / "actors.md").read_text(encoding="utf-8")
PROGRAMS = dict(re.findall(r"^```python file=(\S+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL))


def run(newcomer: Terminal, *arguments: str) -> str:
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=newcomer.folder, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_program_of_the_document_has_a_name() -> None:
    assert len(PROGRAMS) == TEXT.count("```python")


def test_the_account_of_the_document_is_kept(newcomer: Terminal) -> None:
    (newcomer.folder / "bank_service.py").write_text(PROGRAMS["bank_service.py"])
    assert run(newcomer, "bank_service.py") == "Account(cents=300)\noverdrawn alice has only 300 cents\n"


def test_an_older_event_of_the_document_is_read_as_what_it_is_today(newcomer: Terminal) -> None:
    checks = "print(DepositedInEuros(account='alice', euros=3).upcast())"
    (newcomer.folder / "events.py").write_text(PROGRAMS["events.py"] + checks)
    assert run(newcomer, "events.py") == "Deposited(account='alice', cents=300)\n"


def test_the_tests_of_the_document_pass(newcomer: Terminal) -> None:
    entity, _ = PROGRAMS["bank_service.py"].split("async def main")
    (newcomer.folder / "bank.py").write_text(entity)
    for name in ("test_bank.py", "test_survival.py"):
        (newcomer.folder / name).write_text(PROGRAMS[name])
    assert "3 passed" in run(newcomer, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp=tmp")


@pytest.mark.parametrize(
    "words",
    [
        f"among the last {LAST} of its entity, or the last {WITHIN:,} offsets of the topic",
        f"at most {DECISIONS_MAX} times",
        f"{ {3: 'Three'}[SERVICES] } services keep the entities",
    ],
)
def test_the_numbers_in_the_document_match_the_code(words: str) -> None:
    assert words in " ".join(TEXT.split())
