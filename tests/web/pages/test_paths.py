"""Why a subscriber has what it has at a path, and who has the newest."""

from callboard import Callboard
from tests.web.served import reader, run
from tests.web.stage import packages, staged


@run
async def test_a_path_is_explained_for_a_subscriber(tmp_path):
    async with staged(tmp_path) as board, reader(board) as reads:
        said = await reads.words("/paths?path=/blog/a.html&subscriber=good")
        assert "/blog/a.html at good" in said
        assert "2 add main ben" in said
        assert "brought it: file, mode 644, 16 bytes" in said
        said = await reads.words("/paths?path=/blog/a.html&subscriber=stuck")
        assert "No package up to its position" in said
        assert "queued behind 1 more" in said
        assert "did you mean 'good'?" in await reads.words("/paths?path=/a&subscriber=goof", 404)
        await reads.words("/paths?path=nowhere", 400)


@run
async def test_without_a_subscriber_all_are_shown_with_what_became_of_the_newest(tmp_path):
    async with staged(tmp_path) as board, reader(board) as reads:
        said = await reads.words("/paths?path=/blog/b.html")
        assert "Package 3, the newest of them" in said
        assert "careful held" in said
        assert "good imported" in said
        assert "Which package brought a path" in await reads.words("/paths")


@run
async def test_a_path_that_no_package_touches_is_told_with_how_far_back_that_was_looked_for(tmp_path):
    async with Callboard(f"sqlite:///{tmp_path / 'board.db'}") as board, reader(board) as reads:
        await packages(board, 3)
        said = await reads.words("/paths?path=/else&subscriber=")
        assert "No package on the log touches it, as far back as offset 1." in said
