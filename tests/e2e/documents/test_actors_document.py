"""The programs in docs/actors.md run as they are written there, and its numbers are those of the code."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from callboard.actors.entities.command_queue import DECISIONS_MAX
from callboard.actors.entities.entity import Entity
from callboard.actors.entities.held import LAST, WITHIN
from callboard.actors.entities.processes.conductor import AGAIN, ASKING_MAX, LOOK_S, TAKEOVER_S
from callboard.actors.entities.processes.tasks import TASKS_MAX
from callboard.actors.entities.projections.projector import STANDBY_S
from callboard.actors.entities.settings import HELD_MAX, EntitySettings
from callboard.testing.actors.simulation.scene import SOON_S
from callboard.testing.actors.simulation.services import PROJECTORS, SERVICES
from tests.e2e.conftest import DEADLINE_S, Terminal

TEXT = (Path(__file__).resolve().parents[3] / "docs" / "actors.md").read_text(encoding="utf-8")
PROGRAMS = dict(re.findall(r"^```python file=(\S+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL))


def write(newcomer: Terminal, *names: str) -> None:
    """These programs, and what they import."""
    entity, _ = PROGRAMS["bank_service.py"].split("async def main")
    (newcomer.folder / "bank.py").write_text(entity)
    for name in names:
        (newcomer.folder / name).write_text(PROGRAMS[name])


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


def test_the_transfers_of_the_document_end_also_with_snapshots_of_before(newcomer: Terminal) -> None:
    write(newcomer, "transfers.py")
    assert run(newcomer, "transfers.py") == "rent done\ncar refused\nAccount(cents=300)\n"
    assert (newcomer.folder / "snapshots.db").exists()
    assert run(newcomer, "transfers.py") == "rent done\ncar refused\nAccount(cents=300)\n", "they are known"


def test_the_table_of_the_document_can_be_queried(newcomer: Terminal) -> None:
    write(newcomer, "balances.py")
    assert run(newcomer, "balances.py") == "Balance(cents=500, changes=1)\n[('carol', 500)]\n"


def test_the_bonus_of_the_document_is_given_once(newcomer: Terminal) -> None:
    write(newcomer, "bonus.py")
    assert run(newcomer, "bonus.py") == "Account(cents=20200)\n"
    assert run(newcomer, "bonus.py") == "Account(cents=40400)\n"


def test_the_tests_of_the_document_pass(newcomer: Terminal) -> None:
    write(newcomer, "transfers.py", "balances.py", "bonus.py", "test_bank.py", "test_survival.py", "test_transfers.py")
    assert "6 passed" in run(newcomer, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp=tmp")


@pytest.mark.parametrize(
    "words",
    [
        f"among the last {LAST} of its entity, or the last {WITHIN:,} offsets of the topic",
        f"at most {DECISIONS_MAX} times",
        f"in_memory={HELD_MAX:_})`",
        f"at most {EntitySettings(Entity, '', '').save_s:g} s late and when it stops",
        f"all other services after {TAKEOVER_S:g} s",
        f"looked at every {LOOK_S:g} s at least",
        f"sent again, at most {AGAIN.max_s:g} s apart",
        f"at most {TASKS_MAX:,} tasks, and a service sends at most {ASKING_MAX} commands of a class at once",
        f"The others look every {STANDBY_S:g} s",
        f"{ {3: 'Three'}[SERVICES] } services keep the entities",
        f"{ {2: 'two'}[PROJECTORS] } make the projections",
        f"within { {3 * 3600.0: 'three hours'}[SOON_S] }",
    ],
)
def test_the_numbers_in_the_document_match_the_code(words: str) -> None:
    assert words in " ".join(TEXT.split())
