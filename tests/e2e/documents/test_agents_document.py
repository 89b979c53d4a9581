"""The programs in docs/agents.md run as they are written there, and its numbers are those of the code."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from callboard.actors.runtime import Limits
from callboard.actors.runtime.processes.processes import LIMITS, MAX_SYSTEMS, SYSTEMS_WINDOW_S
from callboard.board.connect.agents import CLOSE_DRAIN_S
from callboard.door.actors.agents import ACTORS_MAX, TOPICS_MAX
from tests.e2e.conftest import DEADLINE_S, Terminal

TEXT = (Path(__file__).resolve().parents[3] / "docs" / "agents.md").read_text(encoding="utf-8")
PROGRAMS = dict(re.findall(r"^```python file=(\S+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL))


def write(newcomer: Terminal, *names: str) -> None:
    for name in names:
        (newcomer.folder / name).write_text(PROGRAMS[name])


def run(newcomer: Terminal, *arguments: str) -> str:
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=newcomer.folder, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_program_of_the_document_has_a_name() -> None:
    assert len(PROGRAMS) == TEXT.count("```python")


def test_the_letter_of_the_document_is_accepted(newcomer: Terminal) -> None:
    write(newcomer, "letters.py", "letter_service.py")
    assert "Accepted(letter='order-17')\n" in run(newcomer, "letter_service.py")


def test_the_primes_of_the_document_are_counted_by_actors_that_are_killed(newcomer: Terminal) -> None:
    write(newcomer, "primes.py", "primes_service.py")
    assert run(newcomer, "primes_service.py") == "Total(primes=25)\nTotal(primes=17984)\n"


def test_one_mailer_delivers_and_another_one_when_it_is_killed(newcomer: Terminal) -> None:
    def start(name: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "one_mailer.py", name]
        return subprocess.Popen(
            command, cwd=newcomer.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def says(service: "subprocess.Popen[str]", line: str) -> None:
        assert service.stdout is not None
        assert any(each.strip() == line for each in service.stdout)

    write(newcomer, "letters.py", "letter_service.py", "one_mailer.py")
    letter = "order-17: It is on its way."
    is_delivered = letter in run(newcomer, "letter_service.py")
    with start("a") as first:
        try:
            says(first, "a delivers")
            if not is_delivered:
                says(first, letter)
            with start("b") as second:
                try:
                    first.kill()
                    says(second, "b delivers")
                finally:
                    second.kill()
        finally:
            first.kill()


def test_the_tests_of_the_document_pass(newcomer: Terminal) -> None:
    write(newcomer, "letters.py", "test_letters.py")
    assert "2 passed" in run(newcomer, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp=tmp")


EMBEDDED = Limits()


@pytest.mark.parametrize(
    "words",
    [
        f"up to {ACTORS_MAX} actors, the topics that it writes (up to {TOPICS_MAX},",
        "at once, then after {1:g}, {2:g}, {3:g} and {4:g} seconds".format(*EMBEDDED.backoff_s),
        f"more than {EMBEDDED.max_restarts} times in {EMBEDDED.window_s:g} s ends the whole agent",
        f"handles nothing for {LIMITS.beat_s * LIMITS.missed_beats:g} s is killed",
        f"one that does not start within {LIMITS.start_deadline_s:g} s",
        f"up to {MAX_SYSTEMS} times in {SYSTEMS_WINDOW_S:g} s",
        f"and gives them {CLOSE_DRAIN_S:g} s",
    ],
)
def test_the_numbers_in_the_document_match_the_code(words: str) -> None:
    assert words in " ".join(TEXT.split())


def test_both_runtimes_replace_actors_alike() -> None:
    def restarts(limits: Limits) -> tuple[object, ...]:
        return limits.backoff_s, limits.window_s, limits.max_restarts

    assert restarts(EMBEDDED) == restarts(LIMITS)
