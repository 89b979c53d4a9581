"""The source over a real Kafka, whose offsets have gaps and whose log ends at the last stable offset."""

import os
from collections.abc import Iterator
from secrets import token_hex

import pytest

from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from callboard.testing.servers.kafka import KafkaMissing, kafka_servers

pytestmark = pytest.mark.kafka

COUNT = 1200


def package(number: int) -> PackageMessage:
    return PackageMessage(publisher_instance="i", publisher="p", package_id=str(number), kind=Kind.ADD, length=number)


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    try:
        with kafka_servers() as found:
            yield found
    except KafkaMissing as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"NO REAL KAFKA: {error}")


@pytest.fixture
def board(servers, tmp_path, monkeypatch) -> dict[str, str]:
    """Options of the source for a board on Kafka whose topics are its own."""
    config = tmp_path / "callboard.toml"
    config.write_text(f'log = "kafka://{servers}"\nprefix = "spark-{token_hex(4)}"\n')
    return {"board": str(config), "topic": "package"}


@pytest.fixture
def append(board):
    """Appends this many packages in transactions, of which every third is rolled back."""
    from confluent_kafka import Producer

    from callboard.messages.headers import new_record
    from callboard.pipeline.source.place import Place

    place = Place.of(board)

    def work(numbers: range) -> None:
        import asyncio

        async def ensure() -> None:
            log = place.open_log()
            await log.ensure(place.topic_name())
            await log.close()

        asyncio.run(ensure())
        servers = place.url().removeprefix("kafka://")
        producer = Producer({"bootstrap.servers": servers, "transactional.id": token_hex(8)})
        producer.init_transactions(60)
        for low in range(numbers.start, numbers.stop, 100):
            for committed in (False, True) if low % 300 == 0 else (True,):
                producer.begin_transaction()
                for number in range(low, min(low + 100, numbers.stop)):
                    record = new_record(package(number), record_id=str(number), time_ns=1, producer="t/1")
                    producer.produce(place.topic_name(), record.payload, headers=list(record.headers))
                producer.flush(60)  # an abort discards what was not sent, and the broker ends no empty transaction
                (producer.commit_transaction if committed else producer.abort_transaction)(60)

    return work


@pytest.mark.timeout(300)
def test_every_committed_record_is_in_exactly_one_partition(board, append, reader):
    append(range(COUNT))
    table = reader(**board, partitions="5")
    partitions = table.partitions()
    batches = [batch for part in partitions for batch in table.read(part)]
    assert [each for batch in batches for each in lengths(batch)] == list(range(COUNT))
    assert len(partitions) == 5
    assert partitions[-1].stop > COUNT + 1, "there are no gaps"


def lengths(batch) -> list[int]:
    return batch.column("package").field("length").to_pylist()


@pytest.mark.timeout(600)
def test_a_table_and_a_stream_have_every_committed_record_once(spark, board, append, tmp_path, awaited):
    append(range(COUNT))
    source = spark.read.format("callboard").options(**board, partitions="3")
    figures = ("count(*)", "count(distinct offset)", "count(problem)", "max(offset)", "sum(package.length)")
    [row] = source.load().selectExpr(*figures).collect()
    assert tuple(row)[:3] == (COUNT, COUNT, 0)
    assert row[3] > COUNT, "there are no gaps"
    assert row[4] == sum(range(COUNT))

    def run() -> list[int]:
        stream = spark.readStream.format("callboard").options(**board, maxRowsPerBatch="500").load()
        query = stream.selectExpr("offset", "package.length as number").writeStream.format("parquet")
        query = query.option("checkpointLocation", str(tmp_path / "checkpoint"))
        awaited(lambda: query.trigger(availableNow=True).start(str(tmp_path / "out")))
        return sorted(row["number"] for row in spark.read.parquet(str(tmp_path / "out")).collect())

    assert run() == list(range(COUNT))
    append(range(COUNT, COUNT + 150))
    assert run() == list(range(COUNT + 150))
