"""Who has what, how far behind, why, and what helps."""

import re

from callboard import Callboard
from callboard.messages.distribution.topic_messages import State
from tests.web.served import reader, run
from tests.web.stage import fleet_of, packages, staged


def names(page: str) -> list[str]:
    """The subscribers on the page, in its order."""
    return re.findall(r'class="name" href="/subscribers/([^"]+)"', page.partition("<h2>Publishers")[0])


@run
async def test_those_that_need_somebody_come_first_with_what_helps(tmp_path):
    async with staged(tmp_path) as board, reader(board) as reads:
        said = await reads.until("/", "Need an operator 3", "3 given up", "3 quarantined")
        before, _, after = said.partition("The others")
        assert "stuck blocked 3 behind" in before
        assert "the disk is full, says <b>edge</b>" in before
        assert "callboard retry stuck retries it now" in before
        assert "callboard errors careless" in before
        assert "good" in after
        assert "stuck" not in after.partition("Publishers")[0]
        assert "main blocked 3 stuck of 4" in after


@run
async def test_a_fleet_is_filtered_by_name_state_and_publisher(tmp_path):
    async with staged(tmp_path) as board, reader(board) as reads:
        await reads.until("/", "3 given up", "3 quarantined")
        assert names(await reads.page("/?q=CARE")) == ["careful", "careless"]
        assert names(await reads.page("/?state=blocked")) == ["stuck"]
        assert set(names(await reads.page("/?state=needs"))) == {"stuck", "careful", "careless"}
        assert len(names(await reads.page("/?publisher=main"))) == 4
        assert "No subscriber matches" in await reads.words("/?q=nobody")
        assert "did you mean 'main'?" in await reads.words("/?publisher=mian", 404)
        assert "should be one of needs, starting, idle" in await reads.words("/?state=well", 400)


@run
async def test_columns_sort_the_worst_first(tmp_path):
    async with Callboard(f"sqlite:///{tmp_path / 'board.db'}") as board:
        await packages(board, 3)
        await fleet_of(board, ["b", "a"], offset=3)
        await fleet_of(board, ["c"], offset=1)
        async with reader(board) as reads:
            assert names(await reads.page("/?sort=name")) == ["a", "b", "c"]
            assert names(await reads.page("/?sort=behind")) == ["c", "a", "b"]
            page = await reads.page("/?sort=behind&q=c&state=idle")
            assert 'aria-sort="descending"><a href="?q=c&amp;state=idle&amp;sort=behind">Behind' in page
            assert "sort is 'size', but should be one of needs, name" in await reads.words("/?sort=size", 400)


@run
async def test_a_thousand_subscribers_are_shown_a_hundred_at_a_time(tmp_path):
    async with Callboard(f"sqlite:///{tmp_path / 'board.db'}") as board:
        await packages(board, 5)
        await fleet_of(board, [f"edge-{number:04}" for number in range(1000)], offset=2)
        await fleet_of(board, ["broken"], offset=1, state=State.BLOCKED, reason="no room")
        async with reader(board) as reads:
            said = await reads.words("/")
            assert "Subscribers 1,001 Need an operator 1 Behind 1,001 Packages to import 3,004" in said
            assert "1 to 100 of 1001 subscribers Next" in said
            first, last = names(await reads.page("/")), names(await reads.page("/?at=1000"))
            assert first[:2] == ["broken", "edge-0000"]
            assert len(first) == 100
            assert last == ["edge-0999"]
            assert names(await reads.page("/?at=999999")) == last
            assert "at is '-1', but should be a whole number" in await reads.words("/?at=-1", 400)


@run
async def test_a_log_without_anything_says_how_to_begin(tmp_path):
    async with Callboard(f"sqlite:///{tmp_path / 'board.db'}") as board, reader(board) as reads:
        said = await reads.words("/")
        assert "callboard run subscriber NAME --into PLACE" in said
        assert "callboard publish SOURCE" in said
