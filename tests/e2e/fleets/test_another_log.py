"""The log was replaced by another one: no view compares an old position with it."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from callboard.board.care.fleet_checkup import examine_fleet
from callboard.board.care.retention_gate import GatePolicy, RetentionGate
from tests.e2e.commands.test_commands import board_in, on_a_loop, publish, until
from tests.refused import refused


async def three_imported(folder: Path) -> None:
    """``edge-1`` is at the third package of a log, in the state of its last announcement."""
    async with board_in(folder) as board:
        for name, content in (("a", "first"), ("b", "old"), ("a", "old")):
            await publish(board, folder, name, content)
        async with board.subscriber("edge-1", into="./out", editable=True) as edge:
            await edge.caught_up()
            await until(board, "edge-1", lambda row: row.offset == 3)


@pytest.mark.proves("F73", "F57")
@on_a_loop
async def test_no_view_takes_a_position_on_another_log_for_one_on_this_log(tmp_path: Path) -> None:
    await three_imported(tmp_path)
    shutil.rmtree(tmp_path / "board.db")
    async with board_in(tmp_path) as board:
        new = await publish(board, tmp_path, "a", "new")
        assert new < 3  # so that the position of the former log looks as if it were past it
        async with board.subscriber("edge-1", into="./out", editable=True):
            row = await until(board, "edge-1", lambda row: row.state == "gap")
            assert (row.offset, row.lag_packages, row.lag_bytes, row.lag_s) == (-1, -1, -1, -1.0)
            assert (row.queue, row.needs, row.liveness) == ("blocked", True, "live")
            assert "the package log was replaced" in row.troubles[0].what
            queue = await board.queue("edge-1")
            assert ([each.offset for each in queue.items], queue.state) == ([new], "blocked")
            found = await board.explain("edge-1", "/a")
            assert found.brought is None
            assert "replaced" in found.newer[0].fate
            (main,) = [each for each in (await board.status()).publishers if each.name == "site"]
            assert main.persisted is not None
            assert (main.state, main.persisted.size, main.persisted.straggler) == ("blocked", 1, "edge-1")
            figures = await board.metrics()
            assert 'callboard_subscriber_lag_packages{subscriber="edge-1"}' not in figures
            assert 'callboard_subscriber_needs{subscriber="edge-1"} 1.0' in figures
            assert any("edge-1" in each.what and each.fix for each in await examine_fleet(board.context, None, {}))
            with refused("mismatch"):
                await board.clear("edge-1")
            assert await board.clear_all() == ()
            with refused("mismatch"):
                await board.verify("edge-1")
            gate = RetentionGate(GatePolicy("subscribers"), board.settings.topics)
            assert [need.offset for need in await gate.needs(board.log, 0)] == [new]
    assert (tmp_path / "out" / "a").read_text() == "old"


@pytest.mark.proves("F73")
@on_a_loop
async def test_a_subscriber_stopped_on_another_log_is_not_shown_as_up_to_date(tmp_path: Path) -> None:
    """On a server the topic of packages was recreated, while the announcements of subscribers stay."""
    await three_imported(tmp_path)
    for file in (tmp_path / "board.db").glob("callboard.package.*"):
        file.unlink()
    async with board_in(tmp_path) as board:
        await publish(board, tmp_path, "a", "new")
        (row,) = (await board.status()).subscribers
        assert (row.liveness, row.lag_packages, row.offset, row.needs) == ("stopped", -1, -1, True)
        assert "its position belongs to package log" in row.troubles[0].what
        assert row.troubles[0].remedies[0].command == "callboard publish SOURCE --full"
        assert (await board.explain("edge-1", "/a")).brought is None
        async with board.subscriber("edge-1", into="./out", editable=True, on_gap="earliest") as edge:
            await edge.caught_up()
            row = await until(board, "edge-1", lambda row: row.state == "idle")
            assert (row.lag_packages, row.needs) == (0, False)
    assert (tmp_path / "out" / "a").read_text() == "new"


def test_the_command_line_says_that_the_log_is_another_one(terminal: Any) -> None:
    for number in range(3):
        (terminal.folder / "site" / "index.html").write_text(str(number))
        terminal.run("publish", "./site")
    terminal.run("run", "subscriber", "edge-1", "--into", "./out", "--until-caught-up")
    shutil.rmtree(terminal.folder / "board.db")
    terminal.run("init")
    terminal.run("publish", "./site")
    terminal.start("run", "subscriber", "edge-1", "--into", "./out")
    terminal.until("edge-1", lambda row: row["state"] == "gap" and row["lag_packages"] == -1)
    assert "was replaced" in terminal.out("status")
    assert "nothing on this log that edge-1 has brought /index.html" in terminal.out("explain", "edge-1", "/index.html")
    assert "edge-1 (gap)" in terminal.run("doctor", code=1).stdout
    assert "cannot be compared with this log" in terminal.run("verify", "edge-1", code=2).stderr
