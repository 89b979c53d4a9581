"""Relays are killed while they append, and start again: nothing is lost, nothing comes twice, and the order is kept."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from callboard import Callboard
from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from callboard.messages.headers import new_record
from callboard.messages.record import NewRecord, Record
from callboard.messages.relayed import origin_of
from callboard.testing.servers.kafka import local_kafka
from callboard.testing.servers.postgres import postgres_server
from tests.chaos.failover.storm import POLL_S, Service

LONG = "CALLBOARD_LONG" in os.environ
PACKAGES, KILLS = (100_000, 50) if LONG else (3_000, 6)
SEED = 1
DEADLINE_S = 3600.0 if LONG else 240.0
"""The machine may be busy."""

Hosts = tuple[str, ...]


def package(number: int) -> NewRecord:
    message = PackageMessage(
        publisher_instance="i", publisher="main", package_id=str(number), kind=Kind.DELETE, paths=(f"/{number}",)
    )
    return new_record(message, record_id=str(number), time_ns=1, producer="main")


async def packages(board: Callboard, start: int = 0) -> list[Record]:
    log, topic = board.context.log, board.context.topics.package
    first, end = await log.bounds(topic)
    found, at = list[Record](), max(first, start)
    while at < end and (records := await log.read(topic, at)):
        found += records
        at = records[-1].offset + 1
    return found


async def storm(folder: Path, centre: str, site: str, hosts: Hosts) -> tuple[list[int], list[tuple[str, int]]]:
    """Publish, and kill a host of the relay after each part; the offsets, and what the site has: names and origins."""
    random = Random(SEED)
    words, module = (centre, site, str(folder)), "tests.chaos.relays.relaying_service"
    services = [Service(name, words, folder, module) for name in hosts]
    there: list[Record] = []

    async def until(holds: Callable[[], bool]) -> None:
        while not holds():
            for service in services:
                service.check()
            there.extend(await packages(target, there[-1].offset + 1 if there else 0))
            await asyncio.sleep(POLL_S)

    async with (
        asyncio.timeout(DEADLINE_S),
        Callboard(centre, blobs="./centre-blobs", base=folder) as source,
        Callboard(site, blobs="./site-blobs", base=folder) as target,
    ):
        try:
            for service in services:
                service.start()
            part = PACKAGES // KILLS
            for kill in range(KILLS):
                records = [package(number) for number in range(kill * part, (kill + 1) * part)]
                await source.context.log.append(source.context.topics.package, records)
                enough = kill * part + random.randrange(part)
                await until(lambda enough=enough: len(there) >= enough)  # type: ignore[misc]
                service = random.choice(services)
                service.kill()
                service.start()
            await until(lambda: len(there) >= PACKAGES // KILLS * KILLS)
            await until(lambda: all(service.is_up for service in services))  # nothing more comes from them
        finally:
            for service in services:
                service.kill()
        offsets = [record.offset for record in await packages(source)]
        came = [(record.header("id"), origin_of(record)) for record in await packages(target)]
    return offsets, [(name, origin.last[1] if origin else -1) for name, origin in came]


def check(folder: Path, centre: str, site: str, hosts: Hosts = ("one",)) -> None:
    offsets, came = asyncio.run(storm(folder, centre, site, hosts))
    assert came == [(str(number), offset) for number, offset in enumerate(offsets)]


def sqlite(folder: Path, name: str) -> str:
    return f"sqlite:///{folder}/{name}.db"


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("hosts", [("one",), ("one", "other")], ids=["one host", "two hosts"])
def test_a_relay_is_killed_between_files(tmp_path: Path, hosts: Hosts) -> None:
    check(tmp_path, sqlite(tmp_path, "centre"), sqlite(tmp_path, "site"), hosts)


@pytest.mark.postgres
@pytest.mark.timeout(7200)
def test_a_relay_is_killed_that_appends_to_postgres(tmp_path: Path) -> None:
    with postgres_server() as server:
        check(tmp_path, sqlite(tmp_path, "centre"), server.url)


@pytest.mark.kafka
@pytest.mark.timeout(7200)
def test_a_relay_is_killed_that_reads_kafka(tmp_path: Path) -> None:
    with local_kafka() as cluster:
        check(tmp_path, f"kafka://{cluster.bootstrap}/", sqlite(tmp_path, "site"))


@pytest.mark.kafka
@pytest.mark.timeout(7200)
def test_a_relay_is_killed_that_appends_to_kafka(tmp_path: Path) -> None:
    with local_kafka() as cluster:
        check(tmp_path, sqlite(tmp_path, "centre"), f"kafka://{cluster.bootstrap}/")
