"""A reader never passes over what is not there any more, or not there yet."""

import asyncio

import pytest

from callboard.backends.postgres.server import Server
from callboard.errors import ConfigError, LogReplaced, OffsetOutOfRange
from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from callboard.messages.headers import new_record
from callboard.pipeline.source.extent import look
from callboard.pipeline.source.place import Place


def package(number: int) -> PackageMessage:
    return PackageMessage(publisher_instance="i", publisher="p", package_id=str(number), kind=Kind.ADD, length=number)


def rows(reader, partitions) -> list[int]:
    batches = [batch for each in partitions for batch in reader.read(each)]
    return [offset for batch in batches for offset in batch.column("offset").to_pylist()]


@pytest.fixture(params=["sqlite_log", "postgres_log"])
def log(request, server):
    log = request.getfixturevalue(request.param)
    log.append("package", *map(package, range(50)))
    return log


def test_every_record_is_in_exactly_one_partition(log, reader):
    table = reader(partitions="7")
    partitions = table.partitions()
    assert len(partitions) == 7
    assert rows(table, partitions) == list(range(1, 51))


@pytest.mark.proves("W3")
def test_a_trimmed_start_is_refused_when_the_table_is_planned(log, reader):
    log.trim("package", 20)
    with pytest.raises(OffsetOutOfRange):
        reader(startingOffset="1").partitions()
    earliest = reader()
    assert rows(earliest, earliest.partitions()) == list(range(20, 51))


@pytest.mark.proves("W3")
def test_records_trimmed_between_planning_and_reading_are_reported_as_lost(log, reader):
    table = reader()
    low, high = table.partitions()
    log.trim("package", 10)
    with pytest.raises(OffsetOutOfRange):
        rows(table, [low])
    assert rows(table, [high]) == list(range(26, 51))


@pytest.mark.proves("W3")
def test_a_trim_during_the_reading_of_a_range_fails_the_range(log, reader):
    table = reader(partitions="1")
    [whole] = table.partitions()
    batches = table.read(whole)
    next(batches)
    log.trim("package", 10)
    with pytest.raises(OffsetOutOfRange):
        list(batches)


def test_a_topic_replaced_after_planning_is_not_read(sqlite_log, reader, tmp_path):
    sqlite_log.append("package", *map(package, range(5)))
    table = reader()
    partitions = table.partitions()
    for file in (tmp_path / "board.db").iterdir():
        file.unlink()
    sqlite_log.append("package", *map(package, range(5)))
    with pytest.raises(LogReplaced):
        rows(table, partitions)


def test_reading_to_the_end_waits_for_an_open_transaction(postgres_log, reader):
    postgres_log.append("package", package(0))
    place = Place("package")
    record = new_record(package(1), record_id="open", time_ns=1, producer="t")

    async def begin():
        connection = await Server.of(postgres_log.url).connect()
        transaction = connection.transaction()
        await transaction.start()
        number = await connection.fetchval("SELECT id FROM topics WHERE name = 'callboard.package'")
        block = record.at(1, 1).header_block
        await connection.fetchval(f"SELECT append_{number}(1, NULL, $1, $2)", [block], [record.payload])
        return connection, transaction

    async def work() -> None:
        connection, transaction = await begin()
        later = asyncio.create_task(asyncio.to_thread(postgres_log.append, "package", package(2)))
        blocked = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        while not await connection.fetchval(blocked):
            assert not later.done(), "an append overtook an open transaction"
            await asyncio.sleep(0.01)
        first = await asyncio.to_thread(look, place)
        assert first.end == 2, "the end reached over an open transaction"
        await transaction.commit()
        await later
        await connection.close()

    asyncio.run(work())
    table = reader(startingOffset="2")
    assert rows(table, table.partitions()) == [2, 3]


def test_a_log_in_memory_and_an_address_in_an_option_are_refused_with_a_clear_error(monkeypatch, reader):
    monkeypatch.setenv("CALLBOARD_LOG", "memory:")
    with pytest.raises(ConfigError, match="in one process"):
        reader().partitions()
    with pytest.raises(ConfigError, match="shown in plans"):
        reader(board="postgresql://user:secret@host/db")
    monkeypatch.setenv("CALLBOARD_LOG", "sqlite:///x")
    with pytest.raises(ConfigError, match="choose among"):
        reader(topic="nonsense")
