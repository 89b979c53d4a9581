"""One subscriber: why it does not move, its queue, its errors, and what it was commanded."""

import re

from callboard import Callboard
from callboard.messages.distribution.topic_messages import State
from tests.web.served import OPERATOR, reader, run
from tests.web.stage import fleet_of, packages, staged


def offsets(page: str) -> list[int]:
    """The packages in the queue on the page."""
    return [int(each) for each in re.findall(r'<tr id="q-(\d+)">', page)]


@run
async def test_a_subscriber_that_is_stuck_says_why_and_what_helps(tmp_path):
    async with staged(tmp_path) as board, reader(board) as reads:
        said = await reads.words("/subscribers/stuck")
        assert said.startswith("stuck blocked as of ")
        assert "Behind 3" in said
        assert "callboard skip stuck --reason TEXT skips it for good" in said
        assert "3 packages to import" in said
        assert "failed 1 time" in said
        assert offsets(await reads.page("/subscribers/stuck")) == [1, 2, 3]
        assert f"Repository {tmp_path}/stuck" in said
        assert "Follows all publishers" in said


@run
async def test_a_subscriber_without_troubles_has_a_history(tmp_path):
    async with staged(tmp_path) as board, reader(board) as reads:
        said = await reads.words("/subscribers/good")
        assert "The queue is empty" in said
        assert "Its error queue is empty" in said
        positions = re.findall(r'<tr id="h-\d+-(\d+)">', await reads.page("/subscribers/good"))
        assert positions == ["3", "2", "1"]


@run
async def test_commands_are_shown_with_who_why_and_what_came_of_them(tmp_path):
    async with staged(tmp_path) as board, reader(board) as reads:
        await board.pause("good", author="olga", reason="the <i>disk</i> is replaced")
        await board.clear("stuck", "main", author="olga", reason="all of it")
        said = await reads.until("/subscribers/good", "paused")
        assert re.search(r"pause \S+ \S+ UTC olga the <i>disk</i> is replaced done", said)
        said = await reads.until("/subscribers/stuck", "The queue is empty")
        assert re.search(r"clear up to 3 of main \S+ \S+ UTC olga all of it done 3 packages", said)
        await fleet_of(board, ["away"], state=State.IDLE)
        await reads.until("/", "away")
        await board.pause("away", author="olga", timeout_s=0.1)
        assert "olga not answered yet" in await reads.until("/subscribers/away", "olga")


@run
async def test_a_subscriber_that_reports_no_imports_has_the_positions_it_announced(tmp_path):
    async with Callboard(f"sqlite:///{tmp_path / 'board.db'}") as board, reader(board) as reads:
        await packages(board, 9)
        for offset in (2, 2, 5):
            await fleet_of(board, ["reader"], offset=offset)
        page = await reads.page("/subscribers/reader")
        assert re.findall(r'<tr id="h-\d+-(\d+)">', page) == ["5", "2"]


@run
async def test_a_queue_of_a_hundred_thousand_is_paged(tmp_path):
    async with Callboard(f"sqlite:///{tmp_path / 'board.db'}") as board:
        await packages(board, 100_000)
        await fleet_of(board, ["far"], offset=10)
        async with reader(board) as reads:
            await reads.until("/subscribers/far", "99990 packages to import")
            page = await reads.page("/subscribers/far")
            assert offsets(page) == list(range(11, 61))
            [link] = re.findall(r'rel="next" href="([^"]+)"', page)
            page = await reads.page(f"/subscribers/far{link}")
            assert offsets(page) == list(range(61, 111))
            assert 'href="?">Back to the beginning' in page
            assert "is no cursor" in await reads.words("/subscribers/far?cursor=x", 400)


@run
async def test_an_unknown_subscriber_is_not_found_and_the_near_name_is_told(tmp_path):
    async with staged(tmp_path) as board, reader(board) as reads:
        assert "did you mean 'stuck'?" in await reads.words("/subscribers/stack", 404)


@run
async def test_only_those_who_may_act_get_buttons(tmp_path):
    async with staged(tmp_path) as board:
        for path, action in (
            ("/subscribers/stuck", "skip?subscriber=stuck"),
            ("/packages/1", "retry?subscriber=stuck&amp;offset=1"),
            ("/errors", "skip?subscriber=careless&amp;offset=2"),
        ):
            async with reader(board) as reads:
                assert "hx-get" not in await reads.page(path)
            async with reader(board, OPERATOR) as reads:
                assert f'hx-get="/actions/{action}" hx-target="#dialog"' in await reads.page(path)
