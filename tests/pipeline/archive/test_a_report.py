"""What a run reports of topics whose offsets begin at 0, as those of Kafka do."""

import asyncio

from callboard import Callboard
from callboard.archive.files.chain import Archived
from callboard.board.archive import archiving
from callboard.board.connect.settings import BoardSettings


class InSteps:
    """Archives each topic in two steps."""

    async def run(self, topic, *, accept_hole=False):
        yield Archived(topic, 0, 5, rows=5)
        yield Archived(topic, 5, 9, rows=4)


def test_a_report_begins_at_the_start_of_the_first_step(tmp_path):
    told = []

    async def scenario():
        async with Callboard("sqlite:///./board.db", base=tmp_path):
            pass
        settings = BoardSettings("sqlite:///./board.db", base=tmp_path)
        return await archiving.archive(
            settings, str(tmp_path / "archive"), accept_hole=False, tip=None,
            on_progress=lambda topic, done, total: told.append(done), archiver=lambda *_: InSteps(),
        )  # fmt: skip

    report = asyncio.run(scenario())
    assert {(topic.first, topic.next, topic.rows) for topic in report.topics} == {(0, 9, 9)}
    assert set(told) == {5, 9}
