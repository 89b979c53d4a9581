"""Retention and limits of logs on servers: the same gate as on a file, and reports of what a server does itself."""

import asyncio
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from callboard import Callboard, RequestRefused
from callboard.backends.log import RECORD_BYTES_MAX, Retention
from callboard.board.care.retention_gate import GatePolicy
from callboard.testing.servers.kafka import kafka_servers
from callboard.testing.servers.postgres import postgres_server
from tests.e2e.conftest import Terminal

pytestmark = pytest.mark.timeout(600)  # a dozen commands, and a server to start

SERVERS = [pytest.param("postgres", marks=pytest.mark.postgres), pytest.param("kafka", marks=pytest.mark.kafka)]


class Place(NamedTuple):
    """Where the board of one test is."""

    log: str
    folder: Path
    prefix: str

    def board(self) -> Callboard:
        return Callboard(self.log, blobs="./blobs", base=self.folder, prefix=self.prefix)

    def configure(self, retention: str) -> None:
        text = f'log = "{self.log}"\nblobs = "./blobs"\nprefix = "{self.prefix}"\n[retention]\n{retention}\n'
        (self.folder / "callboard.toml").write_text(text)


@pytest.fixture(scope="module")
def server(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a log on a server that the tests of this file share."""
    if request.param == "postgres":
        with postgres_server() as postgres:
            yield postgres.url
    elif request.param == "kafka":
        with kafka_servers() as servers:
            yield f"kafka://{servers}/?retention_bytes=100"
    else:
        yield "sqlite:///./board.db"


@pytest.fixture
def place(server: str, terminal: Terminal) -> Place:
    return Place(server, terminal.folder, f"board-{uuid.uuid4().hex[:8]}")


async def stopped_at_the_first_package(place: Place) -> list[int]:
    """A subscriber that has the first of three packages; their offsets."""
    async with place.board() as board:
        publisher = board.publisher("site")
        offsets = [(await publisher.publish("./site")).offset]
        async with board.subscriber("edge-1", into="./out") as edge:
            await edge.caught_up()
        return offsets + [(await publisher.publish("./site", full=True)).offset for _ in range(2)]


async def trimmed_by_the_publisher(place: Place) -> tuple[int, int]:
    """Where packages and statuses begin after a publisher has trimmed all that is not needed."""
    async with place.board() as board:
        topics = board.settings.topics
        first = await board.trim(Retention(older_than_s=0), board.retention_gate(GatePolicy("subscribers")))
        assert first[topics.package] == (await board.log.bounds(topics.package)).first
        return first[topics.package], first[topics.discovery]


@pytest.mark.proves("W3", "W27")
@pytest.mark.parametrize("server", SERVERS, indirect=True)
def test_the_gate_keeps_what_a_stopped_subscriber_needs_also_on_a_server(place, terminal):
    offsets = asyncio.run(stopped_at_the_first_package(place))
    place.configure('gate = "subscribers"')
    for limit in (("--below", str(offsets[2])), ("--older-than-days", "0")):
        output = terminal.refused("log", "trim", *limit, "--yes")
        assert f"edge-1 (from offset {offsets[1]})" in output
    packages, announcements = asyncio.run(trimmed_by_the_publisher(place))
    assert packages == offsets[1]
    assert announcements > 0  # all but its last word, by which it is known to be there
    [need] = terminal.json("log", "trim", "--below", str(offsets[2]), "--dry-run")[0]["missed_by"]
    assert need == {"name": "edge-1", "offset": offsets[1]}

    terminal.run("log", "trim", "--below", str(offsets[2]), "--force", "--yes")
    assert [record["offset"] for record in terminal.json("log", "list")["items"]] == offsets[2:]
    done = terminal.run("run", "subscriber", "edge-1", "--into", "./out", "--until-caught-up", code=1)
    assert f"packages {offsets[1]} to {offsets[1]} were trimmed" in done.stderr


@pytest.mark.proves("W27")
@pytest.mark.parametrize("server", SERVERS[1:], indirect=True)
def test_a_warning_tells_what_kafka_itself_removes_and_a_trim_by_bytes_names_the_setting(place, terminal):
    asyncio.run(stopped_at_the_first_package(place))
    place.configure("above_mb = 1000")
    [forecast] = terminal.json("status")["retention_forecast"]  # by the topic's retention.bytes
    assert (forecast["subscriber"], forecast["soon"]) == ("edge-1", True)
    for how in ("--dry-run", "--yes"):
        assert "retention.bytes" in terminal.refused("log", "trim", how)
    assert len(terminal.json("log", "list")["items"]) == 3


@pytest.mark.proves("F19")
@pytest.mark.parametrize("server", ["sqlite", *SERVERS], indirect=True)
def test_a_package_too_large_for_a_record_is_refused_with_the_limit_and_the_next_one_is_shipped(place):
    async def scenario() -> None:
        async with place.board() as board:
            publisher = board.publisher("site")
            with pytest.raises(RequestRefused, match=f"limit of {RECORD_BYTES_MAX}; put fewer paths.* setting blobs"):
                await publisher.test(metadata={f"note {number}": "x" * 10_000 for number in range(250)})
            assert (await publisher.publish("./site", full=True)).state == "accepted"

    asyncio.run(scenario())
