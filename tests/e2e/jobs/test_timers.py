"""Timers of services that are processes of their own."""

import time
from collections.abc import Callable

import pytest

from tests.e2e.conftest import DEADLINE_S, Terminal

SERVICE = """
import asyncio
import sys
from functools import partial
from pathlib import Path

from callboard import Callboard

name = sys.argv[1]


def note(what: str) -> None:
    with Path("calls.txt").open("a") as file:
        file.write(f"{what} {name}\\n")


async def main() -> None:
    async with (
        Callboard("sqlite:///./board.db") as board,
        board.member(instance=name, profile="fast") as member,
        board.jobs.timers(member.topology) as timers,
    ):
        for run_on in ("leader", "single", "all", ["b"]):
            timers.set(str(run_on), partial(note, str(run_on)), every_s=0.05, run_on=run_on)
        await asyncio.Event().wait()


asyncio.run(main())
"""


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.proves("J86")
def test_what_one_member_is_to_do_another_does_when_it_is_killed(terminal: Terminal) -> None:
    calls = terminal.folder / "calls.txt"

    def callers(what: str, since: int = 0) -> set[str]:
        lines = calls.read_text()[since:].splitlines() if calls.exists() else []
        return {line.split()[-1] for line in lines if line.startswith(what) and line.count(" ") == 1}

    services = {name: terminal.start(name, script=SERVICE, said=f"{name}.txt") for name in "abc"}
    until(lambda: callers("all") == set("abc"))
    until(lambda: terminal.json("topology")["condition"] == "settled")
    since = len(calls.read_text())
    until(lambda: bool(callers("leader", since) and callers("single", since) and callers("['b']", since)))
    assert [len(callers(what, since)) for what in ("leader", "single", "['b']")] == [1, 1, 1]
    [leader] = callers("leader", since)
    services[leader].kill()
    since = len(calls.read_text())
    until(lambda: bool(callers("leader", since) - {leader} and callers("single", since) - {leader}))
    assert len(callers("leader", since) - {leader}) == len(callers("single", since) - {leader}) == 1
