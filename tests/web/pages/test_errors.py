"""Error queues of all subscribers."""

import re

from callboard import Callboard
from callboard.backends.log import Retention
from tests.web.served import reader, run
from tests.web.stage import failure, fleet_of, packages, staged, tell


@run
async def test_errors_are_filtered_by_subscriber_publisher_and_status(tmp_path):
    async with staged(tmp_path) as board, reader(board) as reads:
        said = await reads.words("/errors")
        assert "without their hook: 6." in said
        assert re.search(r"careless 2 main given up 1 \d+ s before_import hook .* is full, says <b>edge</b>", said)
        said = await reads.words("/errors?subscriber=careful")
        assert re.findall(r"careful (\d) main held", said) == ["1", "2", "3"]
        assert "careless" not in said
        assert "careless" not in await reads.words("/errors?status=held")
        assert "No package is in an error queue that matches" in await reads.words("/errors?status=hook_failed")
        assert "did you mean 'main'?" in await reads.words("/errors?publisher=mai", 404)
        assert "did you mean 'careful'?" in await reads.words("/errors?subscriber=carefull", 404)
        assert "should be one of given_up, held" in await reads.words("/errors?status=bad", 400)


@run
async def test_many_errors_are_paged_and_what_is_trimmed_has_expired(tmp_path):
    async with Callboard(f"sqlite:///{tmp_path / 'board.db'}") as board, reader(board) as reads:
        await packages(board, 130)
        await fleet_of(board, ["edge"], offset=130)
        topics = board.settings.topics
        await tell(board, topics.status, [failure("edge", offset, "no room") for offset in range(1, 131)])
        await board.log.trim(topics.package, Retention(below_offset=11))
        page = await reads.page("/errors?subscriber=edge")
        assert len(re.findall('<tr id="e-', page)) == 50
        assert page.count(">expired<") == 10
        [link] = re.findall(r'rel="next" href="([^"]+)"', page)
        assert link.startswith("?subscriber=edge&amp;cursor=")
        page = await reads.page(f"/errors{link.replace('&amp;', '&')}")
        assert 'id="e-51-edge"' in page
