"""One package: who has it since when, who does not and why, and what it changed."""

import re

from callboard import Callboard
from callboard.messages.distribution.topic_messages import State
from callboard.messages.record import NewRecord
from tests.web.served import reader, run
from tests.web.stage import fleet_of, packages, staged


@run
async def test_a_package_is_followed_through_all_subscribers(tmp_path):
    async with staged(tmp_path) as board, reader(board) as reads:
        said = await reads.words("/packages/2")
        assert "Kind add Size" in said
        assert "all 4 given up 1 held 1 waiting 1 imported 1" in said
        assert re.search(r"careless given up \S+ \S+ UTC \d+ s 1 before_import hook", said)
        assert re.search(r"good imported \S+ \S+ UTC \d+ s", said)
        assert re.search(r"Imported after \d+ s to \d+ s", said)
        assert "stuck waiting" in said
        assert "User ben" in said
        assert "stuck next 1 blocked: given up: before_import hook" in await reads.words("/packages/1")
        assert "careless" not in await reads.words("/packages/2?fate=waiting")
        assert "should be one of given_up" in await reads.words("/packages/2?fate=lost", 400)


@run
async def test_a_package_has_passed_those_that_report_nothing_and_is_not_for_all(tmp_path):
    async with Callboard(f"sqlite:///{tmp_path / 'board.db'}") as board, reader(board) as reads:
        await packages(board, 3)
        await fleet_of(board, ["ahead"], offset=3)
        tries = {"state": State.RETRYING, "last_error": "no room", "attempts": 4}
        await fleet_of(board, ["behind"], offset=1, head_offset=2, **tries)
        await fleet_of(board, ["partly"], offset=3, left=(2,))
        said = await reads.words("/packages/2")
        assert "ahead past it" in said
        assert "behind next 4 retrying: no room" in said
        assert "partly not finished" in said


@run
async def test_the_content_is_compared_with_the_package_before(tmp_path):
    async with staged(tmp_path) as board, reader(board) as reads:
        said = await reads.words("/packages/2/content")
        assert "Compared with package 1" in said
        assert "new 1 changed 1 same 1" in said
        assert "/blog/b.html new file 12 B 644" in said
        assert "/blog/a.html changed file" in said
        assert "/index.html" not in said  # the package before had it, and this one does not touch it
        assert "/blog/b.html removed removed" in await reads.words("/packages/3/content")
        assert "nothing is compared" in await reads.words("/packages/1/content")
        (tmp_path / "site" / "blog" / "a.html").unlink()
        await board.publisher("main").publish(tmp_path / "site", ["/blog"], full=True)
        (tmp_path / "site" / "blog" / "b.html").unlink()
        await board.publisher("main").publish(tmp_path / "site", ["/blog"], full=True)
        assert "/blog/b.html removed file" in await reads.words("/packages/5/content?change=removed")


@run
async def test_many_paths_are_paged(tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    for number in range(450):
        (site / f"{number:03}").write_text("")
    async with Callboard(f"sqlite:///{tmp_path / 'board.db'}") as board, reader(board) as reads:
        await board.publisher("main").publish(site)
        said = await reads.words("/packages/1/content")
        assert "1 to 200 of 451 entries Next" in said
        assert "/449" in await reads.words("/packages/1/content?at=400")


@run
async def test_a_package_that_is_not_there_or_cannot_be_decoded_says_so(tmp_path):
    async with Callboard(f"sqlite:///{tmp_path / 'board.db'}") as board, reader(board) as reads:
        await board.ensure_topics()
        await board.log.append(board.settings.topics.package, [NewRecord(payload=b"\xff", headers=(("type", "x<b>"),))])
        said = await reads.words("/packages/1")
        assert "It cannot be decoded: " in said
        assert "Headers type x<b>" in said
        assert "cannot be decoded" in await reads.words("/packages/1/content")
        assert "not in the log, which holds [1, 2)" in await reads.words("/packages/7", 404)
        assert "offset is 'one', but should be a whole number" in await reads.words("/packages/one", 400)
        assert "should be a whole number" in await reads.words(f"/packages/{'9' * 5000}", 400)
