"""On any log, announcements of subscribers do not make a board grow, even without configuration."""

import asyncio
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from callboard import Callboard
from callboard.actors.core.shortening import Shortened
from callboard.actors.core.shortening_limits import ShorteningLimits
from callboard.actors.worlds.shortening.shortener import Shortener
from callboard.board.connect.settings import BoardSettings
from callboard.messages.distribution.topic_messages import DiscoveryMessage, SubscriberConfiguration
from callboard.messages.headers import new_record
from callboard.messages.record import NewRecord
from callboard.testing.servers.kafka import kafka_servers
from callboard.testing.servers.postgres import postgres_server

pytestmark = pytest.mark.timeout(600)  # a server to start

LIMITS = ShorteningLimits(records=30, slack=10, announced_s=0.0, told_s=0.0, first_s=(0.0, 0.2), again_s=(0.1, 0.3))

LOGS = [
    "memory",
    "sqlite",
    pytest.param("postgres", marks=pytest.mark.postgres),
    pytest.param("kafka", marks=pytest.mark.kafka),
]


@pytest.fixture
def log(request: pytest.FixtureRequest) -> Iterator[str]:
    match request.param:
        case "postgres":
            with postgres_server() as postgres:
                yield postgres.url
        case "kafka":
            with kafka_servers() as servers:
                yield f"kafka://{servers}/"
        case "sqlite":
            yield "sqlite:///./board.db"
        case _:
            yield "memory:"


def word(name: str, offset: int) -> NewRecord:
    configuration = SubscriberConfiguration(editable=False, max_retries=-1)
    announcement = DiscoveryMessage(
        subscriber_instance=name, subscriber=name, configuration=configuration, offset=offset, time_ns=time.time_ns()
    )
    return new_record(announcement, record_id=uuid.uuid4().hex, time_ns=time.time_ns(), producer=f"{name}/{name}")


@pytest.mark.proves("W38")
@pytest.mark.parametrize("log", LOGS, indirect=True)
def test_on_every_log_only_the_last_announcement_of_each_subscriber_stays(log: str, tmp_path: Path) -> None:
    async def run() -> None:
        prefix = f"board-{uuid.uuid4().hex[:8]}"
        async with Callboard(log, blobs="./blobs", base=tmp_path, prefix=prefix) as board:
            topics = board.settings.topics
            await board.log.append(topics.discovery, [word("silent", 7)])
            for number in range(100):
                await board.log.append(topics.discovery, [word("live", number)])
            done = await Shortener(board.log).run(topics, LIMITS, time.time_ns() + 10**9)
            assert done.removed[topics.discovery] > 60
            first, end = await board.log.bounds(topics.discovery)
            assert len(await board.log.read(topics.discovery, first, end)) < 40
            rows = {row.name: row.offset for row in (await board.status()).subscribers}
            assert rows == {"silent": 7, "live": 99}

    asyncio.run(run())


@pytest.mark.proves("W38")
def test_a_service_that_embeds_a_subscriber_keeps_the_topics_short_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BoardSettings, "shortening", LIMITS)

    async def run() -> None:
        async with Callboard("sqlite:///./board.db", base=tmp_path) as board:
            topics = board.settings.topics
            await board.log.append(topics.discovery, [word("silent", 7)] + [word("busy", n) for n in range(100)])
            async with board.subscriber("edge", into="./out"):
                async with asyncio.timeout(60):
                    while (await board.log.bounds(topics.discovery)).first < 60:
                        await board.log.wait(topics.discovery, (await board.log.bounds(topics.discovery)).end, 1.0)
            assert sorted(row.name for row in (await board.status()).subscribers) == ["busy", "edge", "silent"]

    asyncio.run(run())


def test_a_publisher_shortens_the_topics_and_reading_a_board_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = asyncio.Event()

    async def run_shortener(self: Shortener, *_: object) -> Shortened:
        looked.set()
        return Shortened()

    monkeypatch.setattr(BoardSettings, "shortening", replace(LIMITS, first_s=(0.0, 0.0)))
    monkeypatch.setattr(Shortener, "run", run_shortener)

    async def run() -> None:
        async with Callboard("sqlite:///./board.db", base=tmp_path) as board:
            for _ in range(3):
                await board.status()
            assert not looked.is_set()
            await board.publisher("site").start()
            async with asyncio.timeout(30):
                await looked.wait()

    asyncio.run(run())


def test_a_process_that_also_reads_the_archive_does_not_shorten_topics() -> None:
    assert BoardSettings("sqlite:///./board.db").shortening is not None
    assert BoardSettings("sqlite:///./board.db", archive="./archive").shortening is None
