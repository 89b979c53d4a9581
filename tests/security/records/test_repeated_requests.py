"""A request is repeated under its id after its package was trimmed: the answer says what happened."""

import asyncio
from pathlib import Path

import pytest

from callboard import Callboard
from callboard.backends.log import Bounds, Capability, Retention
from callboard.backends.logs.memory import MemoryLog
from callboard.board.command.same_request import told_of_id
from callboard.cli.publishing.requesting import remarks


async def trim(board: Callboard, below: int) -> None:
    await board.log.trim(board.settings.topics.package, Retention(below_offset=below))


def test_a_request_repeated_while_its_package_is_on_the_log_has_no_note(tmp_path: Path) -> None:
    async def scene() -> None:
        async with Callboard(f"sqlite:///{tmp_path}/board") as board:
            site = board.publisher("site")
            first = await site.test(request_id="r1")
            again = await site.test(request_id="r1")
            assert (first.note, again.note, again.offset) == ("", "", first.offset)

    asyncio.run(scene())


def test_the_publisher_that_shipped_a_trimmed_package_reports_that_and_ships_nothing(tmp_path: Path) -> None:
    async def scene() -> None:
        async with Callboard(f"sqlite:///{tmp_path}/board") as board:
            site = board.publisher("site")
            first = await site.delete(["/a"], request_id="r1")
            await site.test()
            await trim(board, 2)
            again = await site.delete(["/a"], request_id="r1")
            assert again.offset == first.offset
            assert "'r1' was shipped before, at offset 1, and that package is trimmed" in again.note
            assert "nothing was shipped this time, so choose a new id" in again.note
            assert (await board.log.bounds(board.settings.topics.package)).end == 3
            assert remarks(again) == [f"note: {again.note}"]

    asyncio.run(scene())


def test_another_process_warns_that_it_may_ship_the_package_twice(tmp_path: Path) -> None:
    async def scene() -> None:
        async with Callboard(f"sqlite:///{tmp_path}/board") as board:
            await board.publisher("site").delete(["/a"], request_id="r1")
            await board.publisher("site").test()
            await trim(board, 2)
        async with Callboard(f"sqlite:///{tmp_path}/board") as board:
            again = await board.publisher("site").delete(["/a"], request_id="r1")
            assert again.offset == 3
            assert "shipped now, at offset 3: the log is trimmed up to offset 1" in again.note
            assert "if it was used before that, it is shipped twice" in again.note
            assert (await board.publisher("site").delete(["/a"])).note == "", "the request has no id"

    asyncio.run(scene())


@pytest.mark.parametrize(("offsets", "said"), [(1000, ""), (1001, "only the newest 1000 offsets were searched")])
def test_on_a_log_without_keys_the_note_says_how_far_it_was_searched(offsets: int, said: str) -> None:
    class WithoutKeys(MemoryLog):
        capabilities = Capability.TRIM  # type: ignore[assignment]

        async def bounds(self, topic: str) -> Bounds:
            return Bounds(0, offsets + 1)

    note = asyncio.run(told_of_id(WithoutKeys(), "package", "r1", offsets, Bounds(0, offsets)))
    assert said in note
    assert bool(said) == bool(note)
