"""An older copy of the whole folder of the log is restored, and the log grows from there."""

import asyncio
import shutil
from pathlib import Path

import pytest

from callboard import Callboard
from callboard.errors import NotAnswered
from callboard.messages.distribution.topic_messages import State


def publish(folder: Path, *texts: str) -> None:
    async def work() -> None:
        source = folder / "source"
        source.mkdir(exist_ok=True)
        async with Callboard("sqlite:///./board.db", base=folder) as board:
            for text in texts:
                (source / "a").write_text(text)
                await board.publisher("site").publish(source)

    asyncio.run(work())


def imports(folder: Path, on_gap: str = "fail") -> tuple[State, str]:
    """Have the subscriber import everything; returns its output."""

    async def work() -> tuple[State, str]:
        async with Callboard("sqlite:///./board.db", base=folder) as board:
            edge = board.subscriber("edge-1", into="./out", on_gap=on_gap)  # type: ignore[arg-type]
            async with edge:
                while True:
                    try:
                        await edge.caught_up(1.0)
                        break
                    except NotAnswered:
                        if (await edge.report()).state is State.GAP:
                            break
                report = await edge.report()
                return report.state, report.reason

    return asyncio.run(work())


@pytest.mark.proves("W11")
def test_a_restored_folder_that_has_grown_past_the_position_is_noticed(tmp_path: Path) -> None:
    publish(tmp_path, "one")
    shutil.copytree(tmp_path / "board.db", tmp_path / "copy")
    publish(tmp_path, "two")
    assert imports(tmp_path)[0] is State.IDLE
    shutil.rmtree(tmp_path / "board.db")
    (tmp_path / "copy").rename(tmp_path / "board.db")
    publish(tmp_path, "another two", "three")
    state, reason = imports(tmp_path)
    assert state is State.GAP
    assert "the log was replaced by an older or other copy" in reason
    assert (tmp_path / "out" / "a").read_text() == "two"
    assert imports(tmp_path, on_gap="earliest")[0] is State.IDLE
    assert (tmp_path / "out" / "a").read_text() == "three"
