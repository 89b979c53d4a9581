"""The records on the log, searched and one by one."""

import re

from callboard import Callboard
from callboard.messages.record import NewRecord
from tests.web.served import reader, run
from tests.web.stage import packages, staged


def offsets(page: str) -> list[int]:
    return [int(each) for each in re.findall(r'<tr id="r-(\d+)">', page)]


@run
async def test_the_newest_records_come_first_and_older_ones_on_further_pages(tmp_path):
    async with Callboard(f"sqlite:///{tmp_path / 'board.db'}") as board, reader(board) as reads:
        await packages(board, 120)
        page = await reads.page("/log")
        assert offsets(page) == list(range(120, 70, -1))
        assert 'data-live="/live/log"' in page
        [link] = re.findall(r'rel="next" href="([^"]+)">Older', page)
        page = await reads.page(f"/log{link.replace('&amp;', '&')}")
        assert offsets(page) == list(range(70, 20, -1))
        assert "data-live" not in page  # it shows the past
        await reads.page(f"/live/log{link.replace('&amp;', '&')}", 404)
        assert offsets(await reads.page("/log?start=100")) == list(range(100, 121))
        assert "not in the log, which holds [1, 121)" in await reads.words("/log?start=500", 404)


@run
async def test_records_are_found_by_what_they_say(tmp_path):
    async with staged(tmp_path) as board, reader(board) as reads:
        assert offsets(await reads.page("/log?user=ben")) == [3, 2]
        assert offsets(await reads.page("/log?kind=delete")) == [3]
        assert offsets(await reads.page("/log?path=/blog*")) == [3, 2]
        assert offsets(await reads.page("/log?q=BLOG/B")) == [3]
        assert offsets(await reads.page("/log?since=1h")) == [3, 2, 1]
        assert offsets(await reads.page("/log?until=1h")) == []
        assert "good: IMPORTED 3" in await reads.words("/log?topic=status&q=good")
        assert offsets(await reads.page("/log?publisher=nobody")) == []
        assert "is not a time; write an age as" in await reads.words("/log?since=soon", 400)
        assert "kind is 'x', but should be one of add" in await reads.words("/log?kind=x", 400)
        assert offsets(await reads.page("/log?q=(a%2B)%2B%24")) == []  # it is text, not a pattern


@run
async def test_a_search_stops_in_between_and_can_go_on(tmp_path):
    async with Callboard(f"sqlite:///{tmp_path / 'board.db'}") as board, reader(board) as reads:
        await packages(board, 20_500)
        page = await reads.page("/log?path=/p/3")
        assert "Nothing among the 20,000 records looked at" in page
        [link] = re.findall(r'rel="next" href="([^"]+)">Go on', page)
        assert offsets(await reads.page(f"/log{link.replace('&amp;', '&')}")) == [4]


@run
async def test_one_record_is_shown_decoded_or_with_the_reason_why_not(tmp_path):
    async with staged(tmp_path) as board, reader(board) as reads:
        said = await reads.words("/log/status/1")
        assert "Message subscriber_instance" in said
        assert "status IMPORTED" in said
        [offset] = await board.log.append(
            board.settings.topics.status, [NewRecord(payload=b"\xff", headers=(("type", "PackageStatusMessage"),))]
        )
        assert "undecodable" in await reads.words("/log?topic=status")
        said = await reads.words(f"/log/status/{offset}")
        assert "It cannot be decoded: the record at offset" in said
        assert "Headers type PackageStatusMessage" in said
        assert "package 2" in await reads.words("/log/package/2")


@run
async def test_a_topic_that_nobody_used_or_that_cannot_be_is_told_apart(tmp_path):
    async with Callboard(f"sqlite:///{tmp_path / 'board.db'}") as board, reader(board) as reads:
        assert "nothing has written to this topic yet" in await reads.words("/log?topic=job")
        assert "is no topic; choose among package, status" in await reads.words("/log?topic=../etc", 404)
        await reads.words("/log/job/1", 404)
        assert "choose one from the navigation" in await reads.words("/lag", 404)
