"""A new repository under a known name: commands to its predecessor do not apply to it, and nothing is lost."""

import asyncio
import secrets
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from callboard import Callboard
from callboard.actors.publisher import roles
from callboard.board.care.resetting import reset as reset_position
from callboard.board.care.seeding import seed_from_snapshot, take_snapshot
from callboard.errors import RequestRefused
from callboard.messages.distribution.fleet_mail import CommandRequest
from callboard.messages.distribution.publisher_mail import CommandResultQuery
from callboard.messages.distribution.topic_messages import (
    ClearCommand,
    CommandMessage,
    CommandResultMessage,
    PackageStatusMessage,
    Status,
)
from callboard.messages.headers import open_record
from tests.e2e.commands.test_commands import DEADLINE_S, board_in, on_a_loop, publish, until
from tests.refused import refused

NAMES = ("a", "b", "c", "d")


async def told(board: Callboard) -> dict[str, list[tuple[str, int, Status]]]:
    """The statuses of packages, by subscriber."""
    topic = board.settings.topics.status
    first, _ = await board.log.bounds(topic)
    found: dict[str, list[tuple[str, int, Status]]] = {}
    for record in await board.log.read(topic, first):
        said = open_record(record, (PackageStatusMessage, CommandResultMessage))
        if isinstance(said, PackageStatusMessage):
            found.setdefault(said.subscriber, []).append((said.subscriber_instance, said.offset, said.status))
    return found


async def half_cleared(board: Callboard, folder: Path) -> list[int]:
    """``edge-1`` has imported three packages, the fourth is cleared, and it is paused."""
    offsets = [await publish(board, folder, name, name) for name in NAMES[:3]]
    async with board.subscriber("edge-1", into="./out", editable=True) as edge:
        await edge.caught_up()
        assert (await board.pause("edge-1", author="ops", reason="works")).accepted
        offsets.append(await publish(board, folder, "d", "d"))
        cleared = await board.clear("edge-1", author="ops", reason="bad")
        assert (cleared.accepted, cleared.packages) == (True, 1)
        await edge.caught_up()
    return offsets


async def reported(board: Callboard, instance: str, expected: list[tuple[int, Status]]) -> None:
    """Wait until ``edge-1`` has sent these statuses: a staged subscriber takes its predecessor's before."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        mine = [(offset, status) for who, offset, status in (await told(board))["edge-1"] if who == instance]
        if mine == expected:
            return
        assert time.monotonic() < deadline, mine
        await asyncio.sleep(0.1)


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_file())


async def lose_the_disk(board: Callboard, folder: Path) -> None:
    shutil.rmtree(folder / "out")


async def reset(board: Callboard, folder: Path) -> None:
    await reset_position(board.log, board.settings.topics.package, "./out", folder, None)


async def forget(board: Callboard, folder: Path) -> None:
    await board.forget_subscriber("edge-1")
    shutil.rmtree(folder / "out")


@pytest.mark.proves("W11", "F48")
@pytest.mark.parametrize("how", [lose_the_disk, reset, forget])
@on_a_loop
async def test_a_new_repository_imports_everything_despite_commands_to_its_predecessor(
    tmp_path: Path, how: Any
) -> None:
    async with board_in(tmp_path) as board:
        offsets = await half_cleared(board, tmp_path)
        await how(board, tmp_path)
        async with board.subscriber("edge-1", into="./out", editable=True) as edge:
            await edge.caught_up()
            row = await until(board, "edge-1", lambda row: row.lag_packages == 0 and row.state == "idle")
            assert "another repository of this name was paused by ops (works); that is not in force here" in row.reason
            assert "cleared" not in row.reason  # it has that package now
            await reported(board, row.instance, [(offset, Status.IMPORTED) for offset in offsets])
            async with board.subscriber("edge-2", into="./staged", golden="edge-1") as staged:
                await staged.caught_up()
    assert files(tmp_path / "out") == files(tmp_path / "staged") == list(NAMES)


@pytest.mark.proves("F71")
@on_a_loop
async def test_a_repository_seeded_from_its_own_snapshot_is_a_new_one_and_ignores_older_commands(
    tmp_path: Path,
) -> None:
    async with board_in(tmp_path) as board:
        await publish(board, tmp_path, "a", "a")
        async with board.subscriber("edge-1", into="./out", editable=True) as edge:
            await edge.caught_up()
            former = (await until(board, "edge-1", lambda row: row.imported == 1)).instance
        await take_snapshot("./out", tmp_path / "a.snapshot", tmp_path, 1)
        async with board.subscriber("edge-1", into="./out", editable=True) as edge:
            await edge.caught_up()
            assert (await board.pause("edge-1")).accepted
            for name in NAMES[1:]:
                await publish(board, tmp_path, name, name)
            assert (await board.clear("edge-1")).packages == 3
        shutil.rmtree(tmp_path / "out")
        topic = board.settings.topics.package
        await seed_from_snapshot(board.log, topic, "edge-1", "./out", tmp_path / "a.snapshot", tmp_path)
        async with board.subscriber("edge-1", into="./out", editable=True) as edge:
            await edge.caught_up()
            row = await until(board, "edge-1", lambda row: row.state == "idle")
            assert row.instance != former
    assert files(tmp_path / "out") == list(NAMES)


@pytest.mark.proves("W11")
@on_a_loop
async def test_a_command_to_a_former_repository_is_refused_with_the_reason(tmp_path: Path) -> None:
    async with board_in(tmp_path) as board:
        first = await publish(board, tmp_path, "a", "a")
        async with board.subscriber("edge-1", into="./out", editable=True) as edge:
            await edge.caught_up()
            command = CommandMessage(
                subscriber_instance="former", subscriber="edge-1", command_id=secrets.token_hex(8), author="ops",
                clear=ClearCommand(offset=first),
            )  # fmt: skip
            agent = await board.context.viewer()
            await agent.ask(roles.COMMAND_SENDER, CommandRequest(command=command), 30)
            answer = await agent.ask(roles.COMMAND_SENDER, CommandResultQuery(command_id=command.command_id), 30)
            assert isinstance(answer, CommandResultMessage)
            assert not answer.accepted
            assert "it is for another repository of this name (instance former)" in answer.reason


@pytest.mark.proves("W11")
@on_a_loop
async def test_a_successor_with_its_own_repository_reports_the_commands_in_force_at_its_predecessor(
    tmp_path: Path,
) -> None:
    async with board_in(tmp_path) as board:
        async with board.subscriber("edge-1", into="./out-1", editable=True) as edge:
            await publish(board, tmp_path, "a", "a")
            await edge.caught_up()
            assert (await board.throttle("edge-1", 600, author="ann")).accepted
            assert (await board.pause("edge-1", author="ops", reason="works")).accepted
            standby = board.subscriber("edge-1", into="./out-2", editable=True, standby=True)
            waiting = asyncio.create_task(standby.__aenter__())
            await until(board, "edge-1", lambda row: row.state == "paused")
        other = await waiting
        await other.caught_up()
        row = await until(board, "edge-1", lambda row: row.state == "idle" and row.imported == 1)
        assert "limited to 600 packages a minute by ann" in row.reason
        assert "paused by ops (works)" in row.reason
        assert any("paused by ops" in trouble.what for trouble in row.troubles)
        assert (await board.pause("edge-1", author="ops")).accepted
        await until(board, "edge-1", lambda row: row.state == "paused" and "another repository" not in row.reason)
        await standby.__aexit__(None, None, None)


@on_a_loop
async def test_only_a_pause_and_a_limit_can_wait_for_an_unknown_subscriber(tmp_path: Path) -> None:
    async with board_in(tmp_path) as board:
        await publish(board, tmp_path, "a", "a")
        for command in (board.retry, board.resume, board.list_content):
            with pytest.raises(RequestRefused, match=r"ever heard of on this log; known: none yet$"):
                await command("edge-1", force=True)
        with refused("unknown_name"):
            await board.skip("edge-1", 1, force=True)
        await board.pause("edge-1", force=True)
        async with board.subscriber("edge-1", into="./out") as edge:
            await until(board, "edge-1", lambda row: row.state == "paused")
            assert (await board.resume("edge-1")).accepted
            await edge.caught_up()
        shutil.rmtree(tmp_path / "out")
        async with board.subscriber("edge-1", into="./out") as edge:
            await edge.caught_up()
            row = await until(board, "edge-1", lambda row: row.imported == 1)
            assert (row.state, row.reason) == ("idle", "")


@pytest.mark.proves("W11")
def test_commands_of_an_older_version_do_not_empty_a_queue(terminal: Any) -> None:
    """Commands that name no instance: one given before the repository was created, one after."""
    older = CommandMessage(subscriber_instance="", subscriber="edge-1", command_id="1", clear=ClearCommand(offset=9))
    terminal.run("publish", "./site")

    async def append(command: CommandMessage) -> None:
        async with Callboard("sqlite:///./board.db", base=terminal.folder) as board:
            agent = await board.context.viewer()
            await agent.ask(roles.COMMAND_SENDER, CommandRequest(command=command), 30)

    asyncio.run(append(older))
    terminal.start("run", "subscriber", "edge-1", "--into", "./out", "--editable")
    terminal.until("edge-1", lambda row: row["imported"] == 1 and row["cleared"] == 0)
    terminal.run("pause", "edge-1")
    second = terminal.json("publish", "./site", "--full")["offset"]
    later = CommandMessage(
        subscriber_instance="", subscriber="edge-1", command_id="2", clear=ClearCommand(offset=second)
    )
    asyncio.run(append(later))
    terminal.run("resume", "edge-1")
    terminal.until("edge-1", lambda row: row["imported"] == 2 and row["cleared"] == 0)
    assert "it names no repository" in terminal.out("log", "list", "--topic", "status", "--json")
