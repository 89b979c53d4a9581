"""What the doctor finds on a board of one host, and the fixes that it suggests."""

import asyncio
import time

import pytest

from callboard import Callboard
from callboard.backends.logs.sqlite import SqliteLog
from callboard.messages.distribution.topic_messages import DiscoveryMessage, State, SubscriberConfiguration
from callboard.messages.headers import new_record
from callboard.messages.record import NewRecord


def findings(terminal, *words: str, code: int = 0) -> list[tuple[str, str, str, str]]:
    found = terminal.json("doctor", *words, code=code)["findings"]
    return [(each["about"], each["level"], each["what"], each["fix"]) for each in found]


def problems(terminal, *words: str) -> list[tuple[str, str, str]]:
    found = findings(terminal, *words, code=1)
    return [(about, what, fix) for about, level, what, fix in found if level == "problem"]


def test_a_healthy_board_has_no_problem_and_the_doctor_writes_nothing(terminal):
    terminal.run("publish", "./site")
    before = {path: path.stat().st_mtime_ns for path in (terminal.folder / "board.db").glob("*.db")}
    assert {level for _, level, _, _ in findings(terminal)} == {"ok"}
    assert {path: path.stat().st_mtime_ns for path in (terminal.folder / "board.db").glob("*.db")} == before
    assert not (terminal.folder / "board.db" / "blobs").exists()


def test_the_doctor_examines_the_configured_repositories(terminal):
    terminal.run("publish", "./site")
    (terminal.folder / "callboard.toml").write_text(
        '[subscribers.a]\ninto = "./out"\n[subscribers.b]\ninto = "./out"\n[subscribers.c]\ninto = "site/index.html"\n'
    )
    found = problems(terminal)
    assert ("repositories", "a and b import to one place", "set into in [subscribers.b] to another") in found
    assert [(about, "is a file" in what) for about, what, _ in found if about.startswith("repository ")] == [
        ("repository of c", True)
    ]


def test_a_stuck_subscriber_is_named_with_the_reason(terminal):
    async def append_nonsense() -> None:
        async with Callboard(base=terminal.folder) as board:
            await board.log.append(board.settings.topics.package, [NewRecord(payload=b"?", headers=(("type", "x"),))])

    asyncio.run(append_nonsense())
    terminal.start("run", "subscriber", "edge-1", "--into", "./out")
    terminal.until("edge-1", lambda row: row["state"] == "blocked" and row["liveness"] == "live")
    found = {about: (what, fix) for about, what, fix in problems(terminal)}
    assert "record 1 of topic callboard.package cannot be decoded" in found["topics"][0]
    assert "callboard log show 1 --topic package" in found["topics"][1]
    assert found["subscribers"][0].startswith("edge-1 (blocked): package 1 cannot be imported: ")
    assert "callboard retry edge-1" in found["subscribers"][1]


@pytest.mark.parametrize(
    ("limit", "setting"),
    [("older_than_days = 1e-6", "retention.older_than_days"), ("above_mb = 0.0005", "retention.above_mb")],
)
def test_a_subscriber_about_to_lose_packages_is_named_with_the_packages_left(terminal, limit, setting):
    terminal.run("publish", "./site")
    terminal.run("run", "subscriber", "edge-1", "--into", "./out", "--until-caught-up")
    for _ in range(3):
        terminal.run("publish", "./site", "--full")
    (terminal.folder / "callboard.toml").write_text(f"[retention]\n{limit}\n")
    stopped, (about, what, fix) = problems(terminal)
    assert stopped[1] == "edge-1 (stopped): stopped with packages before it; nothing waits for it"
    assert about == "subscribers"
    assert what.startswith("the slowest, edge-1, is at offset ")
    assert "its next package is removed" in what
    assert setting in fix


def test_a_record_from_the_future_points_to_a_wrong_clock(terminal):
    terminal.run("publish", "./site")

    async def append_tomorrow() -> None:
        log = SqliteLog(terminal.folder / "board.db", clock=lambda: time.time_ns() + 86_400 * 10**9)
        await log.append("callboard.event", [NewRecord(payload=b"")])
        await log.close()

    asyncio.run(append_tomorrow())
    assert any("in the future" in what and "timedatectl" in fix for _, what, fix in problems(terminal))


def test_a_pause_is_reported_first(terminal):
    terminal.run("publish", "./site")
    terminal.start("run", "subscriber", "edge-1", "--into", "./out")
    terminal.until("edge-1", lambda row: row["offset"] == 1)
    assert "everything is as it should be" in terminal.out("doctor")
    terminal.run("pause", "edge-1", "--reason", "the disk is exchanged")
    terminal.until("edge-1", lambda row: row["state"] == "paused")
    output = terminal.out("doctor")
    assert output.startswith("advice: subscribers: edge-1 (paused): paused by ")
    assert output.endswith("no action is needed\n")
    terminal.run("publish", "./site", "--full")
    output = terminal.run("doctor", code=1).stdout
    assert output.startswith("problem: subscribers: edge-1 (paused): paused by ")
    assert "\n  fix: `callboard resume edge-1` ends the pause\n" in output
    assert "everything is as it should be" not in output
    assert "subscriber.max_retries" not in output
    assert "--all shows them" in output
    assert "subscriber.max_retries" in terminal.run("doctor", "--all", code=1).stdout
    assert "callboard resume edge-1" in terminal.out("queue", "edge-1")


def test_a_subscriber_without_a_position_is_behind(terminal):
    terminal.run("publish", "./site")

    async def announce() -> None:
        async with Callboard(base=terminal.folder) as board:
            configuration = SubscriberConfiguration(editable=False, max_retries=-1)
            announcement = DiscoveryMessage(
                subscriber_instance="s", subscriber="edge-1", configuration=configuration, state=State.STARTING,
                offset=-1,
            )  # fmt: skip
            word = new_record(announcement, record_id="1", time_ns=time.time_ns(), producer="edge-1/s")
            await board.log.append(board.settings.topics.discovery, [word])

    asyncio.run(announce())
    assert "subscribers: 1, of which 1 behind" in {what for _, _, what, _ in findings(terminal)}


HOOK = """
def called(call):
    raise OSError("the cache cannot be reached")
"""


def test_a_failing_hook_is_reported_with_a_remedy_that_works(terminal):
    (terminal.folder / "shop.py").write_text(HOOK)
    terminal.run("publish", "./site")
    terminal.start("run", "subscriber", "edge-1", "--into", "./out", "--after-import", "shop:called")
    row = terminal.until("edge-1", lambda row: row["hook_attempts"] > 0)
    assert (row["hook_offset"], row["hooks_due"], row["needs"]) == (1, 1, True)
    (found,) = problems(terminal)
    assert "edge-1 (idle): the post-import hook of offset 1 failed " in found[1]
    assert "the cache cannot be reached" in found[1]
    assert "callboard retry edge-1 1" in found[2]
    assert "the post-import hook of offset 1 failed" in terminal.out("status")
    terminal.run("skip", "edge-1", "1", "--reason", "the cache is gone for good")
    terminal.until("edge-1", lambda row: not row["needs"])
    assert "everything is as it should be" in terminal.out("doctor")


def test_a_golden_subscriber_that_is_not_running_is_reported(terminal):
    terminal.run("publish", "./site")
    terminal.start("run", "subscriber", "edge-1", "--into", "./out", "--golden", "edge-0", "--expect")
    terminal.until("edge-1", lambda row: row["state"] == "staged")
    found = [what for _, what, _ in problems(terminal)]
    assert "edge-1 (staged): waits for the verdicts of edge-0, which was never heard of" in found


def test_a_missing_topic_is_reported_at_once(terminal):
    terminal.run("publish", "./site")
    for file in (terminal.folder / "board.db").glob("callboard.status.*"):
        file.unlink()
    ((about, what, fix),) = problems(terminal)
    assert (about, what) == ("topics", "the log has no topic callboard.status")
    assert "callboard init" in fix


def test_the_status_can_be_limited_to_subscribers_that_need_attention(terminal):
    terminal.run("publish", "./site")
    for name in ("edge-1", "edge-2"):
        terminal.run("run", "subscriber", name, "--into", f"./{name}", "--until-caught-up")
    terminal.run("publish", "./site", "--full")
    terminal.run("run", "subscriber", "edge-1", "--into", "./edge-1", "--until-caught-up")
    told = terminal.json("status", "--needs")
    assert [row["name"] for row in told["subscribers"]] == ["edge-2"]
    assert told["totals"] == {"subscribers": 2, "needs": 1, "stopped": 2}
    assert [row["name"] for row in terminal.json("status")["subscribers"]] == ["edge-2", "edge-1"]
    assert terminal.json("status", "edge-*", "--sort", "name")["subscribers"][0]["name"] == "edge-1"
    assert terminal.out("status", "edge-1").splitlines()[0] == "2 subscribers, 1 in need of attention: 2 stopped"
    assert "no subscriber named 'edge-3'" in terminal.refused("status", "edge-3")
    assert "'stuck' is not a state" in terminal.refused("status", "--state", "stuck")
