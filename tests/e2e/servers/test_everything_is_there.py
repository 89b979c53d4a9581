"""``--until-caught-up``, ``--wait``, ``caught_up()`` and the publisher's log report success only when all is there."""

import asyncio
import shlex
import shutil

import pytest

from callboard import Callboard, NotAllImported, SubscriberStuck
from callboard.actors.core.backoff import Backoff
from callboard.messages.record import NewRecord

HOOKS = """


def fails(call):
    raise OSError("no way")

def second_time(call):
    if call.attempt < 2:
        raise OSError("not yet")
"""
SOON = Backoff(first_s=0.01, max_s=0.01)


@pytest.fixture
def hooks(terminal):
    (terminal.folder / "shop.py").write_text(HOOKS)
    (terminal.folder / "callboard.toml").write_text("[subscriber]\nretry_first_s = 0.05\nretry_max_s = 0.1\n")
    terminal.run("publish", "./site")
    return terminal


def until_caught_up(terminal, *words, code):
    done = terminal.run("run", "subscriber", "edge-1", "--into", "./out", "--until-caught-up", *words, code=code)
    assert ("is caught up" in done.stdout) is (code == 0)
    return "\n".join(line for line in done.stderr.splitlines() if not line.startswith("{"))


def append_nonsense(folder):
    async def append():
        async with Callboard(base=folder) as board:
            await board.log.append(board.settings.topics.package, [NewRecord(payload=b"?", headers=(("type", "x"),))])

    asyncio.run(append())


def test_a_package_that_was_given_up_is_named_at_each_end_until_it_is_dismissed(hooks):
    output = until_caught_up(hooks, "--before-import", "shop:fails", "--max-retries", "1", code=1)
    assert "offset 1 of main was given up" in output
    assert "offset 1 of main was given up" in until_caught_up(hooks, code=1)
    hooks.run("skip", "edge-1", "1", "--reason", "not needed", code=1)  # it takes it when it comes
    until_caught_up(hooks, code=0)


def test_a_pending_hook_is_named_and_a_late_success_is_waited_for(hooks):
    output = until_caught_up(hooks, "--after-import", "shop:fails", code=1)
    assert "offset 1 of main is imported, but its hook has not succeeded yet: after_import hook shop:fails" in output
    assert (hooks.folder / "out" / "index.html").exists()
    until_caught_up(hooks, "--after-import", "shop:second_time", code=0)


def test_a_start_without_the_hook_does_not_settle_a_pending_call(hooks):
    until_caught_up(hooks, "--after-import", "shop:fails", code=1)
    assert "its hook has not succeeded yet: no after_import hook is set now" in until_caught_up(hooks, code=1)
    hooks.run("skip", "edge-1", "1", "--reason", "not needed", code=1)  # it takes it when it comes
    until_caught_up(hooks, code=0)


def test_a_package_that_keeps_failing_is_not_waited_for(hooks):
    output = until_caught_up(hooks, "--before-import", "shop:fails", code=1)
    assert "edge-1 is retrying after offset 0: package 1: attempt " in output
    assert "callboard retry edge-1" in output


@pytest.mark.parametrize("tried", [True, False], ids=["tried to start again", "not started since"])
def test_the_command_shown_at_a_gap_ends_the_gap(hooks, tried):
    until_caught_up(hooks, "--follow", "main", code=0)
    for _ in range(2):
        hooks.run("publish", "./site", "--full")
    hooks.run("log", "trim", "--below", "3", "--force", "--yes")
    if tried:
        assert "edge-1 is at a gap after offset 1" in until_caught_up(hooks, "--follow", "main", code=1)
    (row,) = hooks.json("status")["subscribers"]
    assert "packages 2 to 2 were trimmed" in row["reason"]
    assert "packages 2 to 2 were trimmed" in hooks.out("queue", "edge-1")
    (remedy,) = [each["command"] for each in row["troubles"][0]["remedies"] if " run subscriber " in each["command"]]
    output = hooks.out(*shlex.split(remedy)[1:], "--until-caught-up")
    assert "edge-1 is caught up, at offset 3" in output
    assert hooks.json("status")["subscribers"][0]["follows"] == ["main"]


def test_a_blocked_subscriber_ends_with_the_reason(hooks):
    append_nonsense(hooks.folder)
    assert "edge-1 is blocked after offset 1: " in until_caught_up(hooks, code=1)


def test_an_unwritable_repository_is_not_waited_for(hooks):
    (hooks.folder / "site" / "large").write_bytes(bytes(range(256)) * 4000)
    hooks.run("publish", "./site")
    shutil.rmtree(hooks.folder / "board.db" / "blobs")
    (hooks.folder / "board.db" / "blobs").write_text("this is no folder")
    output = until_caught_up(hooks, code=1)
    assert "edge-1 is waiting after offset 1" in output or "edge-1 is retrying after offset 1" in output


def test_a_subscriber_whose_golden_one_is_not_running_is_not_waited_for(hooks):
    assert "edge-0, which was never heard of" in until_caught_up(hooks, "--golden", "edge-0", "--expect", code=1)


def test_a_service_gets_the_packages_as_data_and_the_reason_as_an_error(tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "a").write_text("a")

    def refuse(call):
        raise OSError("no way")

    async def work():
        async with Callboard(base=tmp_path) as board:
            package = await board.publisher("site").publish("./site")
            options = {"before_import": refuse, "max_retries": 0, "retry": SOON}
            async with board.subscriber("edge-1", into="./one", **options) as edge:
                with pytest.raises(NotAllImported, match="offset 1 of site was given up") as told:
                    await edge.caught_up()
            assert [(each.status, each.offset, each.package_id) for each in told.value.left] == [
                ("given_up", 1, package.id)
            ]
            async with board.subscriber("edge-2", into="./two", after_import=refuse, retry=SOON) as edge:
                with pytest.raises(NotAllImported, match="its hook") as told:
                    await edge.caught_up()
            assert [each.status for each in told.value.left] in (["hook_due"], ["hook_failed"])
            await board.log.append(board.settings.topics.package, [NewRecord(payload=b"?", headers=(("type", "x"),))])
            async with board.subscriber("edge-3", into="./three") as edge:
                with pytest.raises(SubscriberStuck, match="edge-3 is blocked after offset 1"):
                    await edge.caught_up()

    asyncio.run(work())


def test_waiting_without_any_subscriber_says_so(terminal):
    done = terminal.run("publish", "./site", "--wait", "60", code=1)
    assert "is at offset 1" in done.stdout
    assert "no subscriber of 'main' is running" in done.stderr
    output = terminal.run("publish", "./site", "--to", "edge-9", "--expect", "--wait", "60", code=1).stderr
    assert "edge-9 is not running" in output


@pytest.mark.proves("F59")
def test_wait_and_the_publishers_log_name_the_subscriber_that_gave_the_package_up(hooks):
    hooks.start("run", "publisher")
    hooks.start("run", "subscriber", "edge-1", "--into", "./out")
    words = ("--before-import", "shop:fails", "--max-retries", "0")
    hooks.start("run", "subscriber", "edge-2", "--into", "./out-2", *words)
    for name in ("edge-1", "edge-2"):
        hooks.until(name, lambda row: row["offset"] == 1)
    done = hooks.run("publish", "./site", "--full", "/index.html", "--wait", "60", code=1)
    assert "edge-2 has processed it, but does not have all of it: " in done.stderr
    assert "edge-1" not in done.stderr
    follower = hooks.start("events", "--follow", "--json", "--after", "-1", "--kind", "distributed")
    assert follower.stdout is not None
    for _ in range(2):
        follower.stdout.readline()
    output = " ".join(hooks.out("publisher-log").split())
    assert "all subscribers are past package" in output
    assert "edge-2 (given up)" in output
    assert "all subscribers have" not in output


def test_waiting_ends_when_no_subscriber_makes_progress(hooks):
    hooks.start("run", "subscriber", "edge-1", "--into", "./out")
    hooks.until("edge-1", lambda row: row["offset"] == 1)
    hooks.run("pause", "edge-1")
    done = hooks.run("publish", "./site", "--full", "--wait", "100000", code=1)
    assert "edge-1 is not there yet: paused, at offset 1" in done.stderr
    assert "callboard resume edge-1" in done.stderr


def test_waiting_succeeds_when_all_subscribers_have_the_package(hooks):
    hooks.start("run", "subscriber", "edge-1", "--into", "./out", "--after-import", "shop:second_time")
    hooks.until("edge-1", lambda row: row["offset"] == 1)
    assert hooks.run("publish", "./site", "--full", "--wait", "60").stderr == ""
