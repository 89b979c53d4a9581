"""The cost of the log on Kafka, beside bare aiokafka with the same settings and beside librdkafka, on one real broker.

Usage: ``python benchmarks/kafka.py``, less than 90 seconds. Needs Java 17 and, the first time, Maven.
"""

import asyncio
import os
import statistics
import time
from collections.abc import Awaitable, Callable

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.structs import TopicPartition
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Position
from report import Report, rounds

from callboard.backends.log import READ_RECORDS_MAX, Log
from callboard.backends.logs.kafka.address import parse_address
from callboard.backends.logs.kafka.log import KafkaLog
from callboard.backends.logs.kafka.topics import BATCH_BYTES
from callboard.backends.logs.kafka.writer import GROUP_BYTES
from callboard.backends.logs.tail import SharedTail
from callboard.messages.record import NewRecord
from callboard.testing.servers.kafka import kafka_servers

ROUNDS = 3
RUN_S = 0.3
"""Seconds per contestant and round."""

CALLERS = (1, 10, 100)
SIZES = {200: "200 B", 10_000: "10 kB", 100_000: "100 kB"}
READ_BYTES = 12 << 20
"""Bytes that one catch-up reads, unless ``READ_RECORDS`` is less."""

READ_RECORDS = 25_000
POLL_MS = 5
"""How long the broker lets the peers' consumers wait at the end: they wait this out before they seek to the start."""

GOAL = 0.7
TAILS, TAIL_PER_S, TAIL_S = 100, 500, 2.0

HEADERS = (("type", "PackageMessage"), ("version", "1.0"), ("id", "0" * 32))
BARE_HEADERS = [(name, value.encode()) for name, value in HEADERS]


async def per_second(step: Callable[[], Awaitable[object]], callers: int) -> float:
    """How many times a second that many closed loops do the step."""
    loop = asyncio.get_running_loop()
    began = loop.time()

    async def caller() -> int:
        done = 0
        while loop.time() < began + RUN_S:
            await step()
            done += 1
        return done

    return sum(await asyncio.gather(*(caller() for _ in range(callers)))) / (loop.time() - began)


def confluent_per_second(producer: Producer, topic: str, payload: bytes, callers: int) -> float:
    """The same with as many messages in flight as there would be callers."""
    began, done = time.perf_counter(), 0

    def delivered(*_: object) -> None:
        nonlocal done
        done += 1
        if time.perf_counter() < began + RUN_S:
            send()

    def send() -> None:
        producer.produce(topic, payload, partition=0, headers=BARE_HEADERS, on_delivery=delivered)

    for _ in range(callers):
        send()
    while len(producer):
        producer.poll(0.1)
    return done / (time.perf_counter() - began)


def measure_append(report: Report, run: asyncio.Runner, servers: str, log: Log) -> None:
    bare = run.run(started_producer(servers))
    native = Producer(
        {"bootstrap.servers": servers, "acks": "all", "enable.idempotence": True, "linger.ms": 0,
         "batch.size": GROUP_BYTES, "message.max.bytes": BATCH_BYTES}
    )  # fmt: skip
    for topic in ("ours", "bare", "native"):
        run.run(log.ensure(topic))
    for size, name in SIZES.items():
        payload = os.urandom(size)

        async def ours(record: NewRecord = NewRecord(payload=payload, headers=HEADERS)) -> None:  # noqa: B008
            await log.append("ours", [record])

        async def peer(payload: bytes = payload) -> None:
            await bare.send_and_wait("bare", payload, partition=0, headers=BARE_HEADERS)

        for callers in CALLERS:
            figures = rounds(ROUNDS, {
                "ours": lambda step=ours, callers=callers: run.run(per_second(step, callers)),
                "bare": lambda step=peer, callers=callers: run.run(per_second(step, callers)),
                "native": lambda payload=payload, callers=callers: confluent_per_second(
                    native, "native", payload, callers
                ),
            })  # fmt: skip
            report.row(f"append {name}, {callers} callers", figures["ours"], figures["bare"], unit="records/s",
                       peer_name="aiokafka", goal=GOAL, note=beside(figures["native"]))  # fmt: skip
    run.run(bare.stop())


def measure_read(report: Report, run: asyncio.Runner, servers: str, log: Log) -> None:
    for size, name in SIZES.items():
        topic, total = f"read-{size}", min(READ_RECORDS, READ_BYTES // size)
        run.run(log.ensure(topic))
        records = [NewRecord(payload=os.urandom(size), headers=HEADERS) for _ in range(max(1, GROUP_BYTES // size))]
        for first in range(0, total, len(records)):
            run.run(log.append(topic, records[: total - first]))
        bare = run.run(started_consumer(servers, topic))
        native = Consumer(
            {"bootstrap.servers": servers, "group.id": "unused", "enable.auto.commit": False,
             "fetch.wait.max.ms": POLL_MS}
        )  # fmt: skip

        async def ours(topic: str = topic) -> float:
            began, start, found = time.perf_counter(), 0, 0
            while records := await log.read(topic, start):
                start, found = records[-1].offset + 1, found + len(records)
            return found / (time.perf_counter() - began)

        async def peer(bare: AIOKafkaConsumer = bare, topic: str = topic, total: int = total) -> float:
            began, found, partition = time.perf_counter(), 0, TopicPartition(topic, 0)
            bare.seek(partition, 0)
            while found < total:
                got = await bare.getmany(partition, timeout_ms=1000, max_records=READ_RECORDS_MAX)
                found += len(got.get(partition, ()))
            return found / (time.perf_counter() - began)

        def confluent(native: Consumer = native, topic: str = topic, total: int = total) -> float:
            began, found = time.perf_counter(), 0
            native.assign([Position(topic, 0, 0)])
            while found < total:
                found += len(native.consume(min(READ_RECORDS_MAX, total - found), timeout=1))
            return found / (time.perf_counter() - began)

        figures = rounds(
            ROUNDS, {"ours": lambda f=ours: run.run(f()), "bare": lambda f=peer: run.run(f()), "native": confluent}
        )
        report.row(f"catch-up read {name}", figures["ours"], figures["bare"], unit="records/s",
                   peer_name="aiokafka", goal=GOAL, note=beside(figures["native"]))  # fmt: skip
        native.close()
        run.run(bare.stop())


async def started_producer(servers: str) -> AIOKafkaProducer:
    producer = AIOKafkaProducer(
        bootstrap_servers=servers, acks="all", enable_idempotence=True,
        max_batch_size=GROUP_BYTES, max_request_size=BATCH_BYTES,
    )  # fmt: skip
    await producer.start()
    return producer


async def started_consumer(servers: str, topic: str) -> AIOKafkaConsumer:
    consumer = AIOKafkaConsumer(
        bootstrap_servers=servers, auto_offset_reset="none", isolation_level="read_committed",
        fetch_max_wait_ms=POLL_MS,
    )  # fmt: skip
    await consumer.start()
    consumer.assign([TopicPartition(topic, 0)])
    return consumer


def beside(figures: list[float]) -> str:
    return f"confluent-kafka {statistics.median(figures):,.4g}"


async def tail(log: Log, topic: str) -> list[float]:
    """Milliseconds from before an append until each of many followers has the record, sorted."""
    await log.ensure(topic)
    delays = list[float]()
    total = int(TAIL_PER_S * TAIL_S)

    async def follow() -> None:
        start = 0
        while start < total:
            if await log.wait(topic, start, 10):
                for record in await log.read(topic, start):
                    delays.append((time.perf_counter_ns() - int(record.payload)) / 1e6)
                    start = record.offset + 1

    followers = [asyncio.create_task(follow()) for _ in range(TAILS)]
    began = time.perf_counter()
    appends = set[asyncio.Task[list[int]]]()
    for number in range(total):
        await asyncio.sleep(max(0.0, began + number / TAIL_PER_S - time.perf_counter()))
        record = NewRecord(payload=str(time.perf_counter_ns()).encode(), headers=HEADERS)
        appends.add(asyncio.create_task(log.append(topic, [record])))
    await asyncio.gather(*appends, *followers)
    return sorted(delays)


def measure_tail(report: Report, run: asyncio.Runner, log: Log) -> None:
    measured = [run.run(tail(SharedTail(log), f"tail-{number}")) for number in range(ROUNDS + 1)][1:]
    for share in (0.5, 0.99):
        delays_ms = [delays[int(len(delays) * share)] for delays in measured]
        report.row(f"{TAILS} followers at {TAIL_PER_S}/s, {share:.0%} have it within", delays_ms, unit="ms",
                   note="goal: 99% within 20 ms")  # fmt: skip


def main() -> None:
    report = Report("kafka")
    with kafka_servers() as servers, asyncio.Runner() as run:
        log = KafkaLog(parse_address(f"kafka://{servers}"))
        measure_append(report, run, servers, log)
        measure_read(report, run, servers, log)
        measure_tail(report, run, log)
        run.run(log.close())
    report.write()


if __name__ == "__main__":
    main()
