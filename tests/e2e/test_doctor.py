"""What the doctor finds on a board of one host, and what it says to do."""

import asyncio
import json
import time

import pytest

from callboard import Callboard
from callboard.backends.logs.sqlite import SqliteLog
from callboard.messages.record import NewRecord


def findings(terminal, *words: str, code: int = 0) -> list[tuple[str, str, str, str]]:
    found = json.loads(terminal.run("doctor", "--json", *words, code=code).stdout)["findings"]
    return [(each["about"], each["level"], each["what"], each["fix"]) for each in found]


def problems(terminal, *words: str) -> list[tuple[str, str, str]]:
    found = findings(terminal, *words, code=1)
    return [(about, what, fix) for about, level, what, fix in found if level == "problem"]


def test_a_board_that_is_well_has_no_problem_and_nothing_is_written(terminal):
    terminal.run("publish", "./site")
    before = {path: path.stat().st_mtime_ns for path in (terminal.folder / "board.db").glob("*.db")}
    assert {level for _, level, _, _ in findings(terminal)} == {"ok"}
    assert {path: path.stat().st_mtime_ns for path in (terminal.folder / "board.db").glob("*.db")} == before
    assert not (terminal.folder / "board.db" / "blobs").exists()


def test_the_repositories_of_the_configuration_are_looked_at(terminal):
    terminal.run("publish", "./site")
    (terminal.folder / "callboard.toml").write_text(
        '[subscribers.a]\ninto = "./out"\n[subscribers.b]\ninto = "./out"\n[subscribers.c]\ninto = "site/index.html"\n'
    )
    found = problems(terminal)
    assert ("repositories", "a and b import to one place", "set into in [subscribers.b] to another") in found
    assert [(about, "is a file" in what) for about, what, _ in found if about.startswith("repository ")] == [
        ("repository of c", True)
    ]


def test_a_stuck_subscriber_and_what_holds_it_up_are_named(terminal):
    async def append_nonsense() -> None:
        async with Callboard(base=terminal.folder) as board:
            await board.log.append(board.settings.topics.package, [NewRecord(payload=b"?", headers=(("type", "x"),))])

    asyncio.run(append_nonsense())
    terminal.start("run", "subscriber", "edge-1", "--into", "./out")
    terminal.until("edge-1", lambda row: row["state"] == "blocked" and row["liveness"] == "live")
    found = {about: (what, fix) for about, what, fix in problems(terminal)}
    assert "record 1 of topic callboard.package cannot be decoded" in found["topics"][0]
    assert "callboard log show 1 --topic package" in found["topics"][1]
    assert found["subscribers"][0].startswith("edge-1 is blocked: ")
    assert "callboard queue edge-1" in found["subscribers"][1]


@pytest.mark.parametrize(("limit", "setting"), [("older_than_days = 1e-6", "retention.older_than_days"),
                                                ("above_mb = 0.0005", "retention.above_mb")])
def test_a_subscriber_that_is_about_to_lose_packages_is_named_with_what_is_left(terminal, limit, setting):
    terminal.run("publish", "./site")
    terminal.run("run", "subscriber", "edge-1", "--into", "./out", "--until-caught-up")
    for _ in range(3):
        terminal.run("publish", "./site")
    (terminal.folder / "callboard.toml").write_text(f"[retention]\n{limit}\n")
    ((about, what, fix),) = problems(terminal)
    assert about == "subscribers"
    assert what.startswith("the slowest, edge-1, is at offset ")
    assert "its next package is removed" in what
    assert setting in fix


def test_a_record_from_the_future_tells_of_a_clock(terminal):
    terminal.run("publish", "./site")

    async def append_tomorrow() -> None:
        log = SqliteLog(terminal.folder / "board.db", clock=lambda: time.time_ns() + 86_400 * 10**9)
        await log.append("callboard.event", [NewRecord(payload=b"")])
        await log.close()

    asyncio.run(append_tomorrow())
    assert any("in the future" in what and "timedatectl" in fix for _, what, fix in problems(terminal))
