"""The cost of the log on PostgreSQL, beside bare asyncpg and another event store, on one private server.

Usage: ``python benchmarks/postgres.py``, less than 90 seconds. The event store is measured if it is installed: ``pip
install "eventsourcing[postgres]" "psycopg[binary]"``.

Appends: callers that each write one record and wait for it, repeatedly. Bare asyncpg writes as many records as there
are callers in one statement, durably, under the same kind of lock, one after another: it wakes no callers.
"""

import asyncio
import os
import statistics
import sys
import time
import uuid
from asyncio.subprocess import PIPE
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from itertools import count

from asyncpg import Record as Row
from report import Report, rounds

from callboard.backends.log import READ_RECORDS_MAX, Log
from callboard.backends.logs.postgres import PostgresLog
from callboard.backends.logs.postgres.topic import GROUP_BYTES
from callboard.backends.logs.tail import SharedTail
from callboard.backends.postgres.server import Connection, Server
from callboard.messages.record import NewRecord, records_of
from callboard.testing.servers.postgres import PostgresServer, postgres_server

ROUNDS = 3
RUN_S = 0.3
"""Seconds per contestant and round."""

CALLERS = (1, 10, 100)
SIZES = {200: "200 B", 10_000: "10 kB", 100_000: "100 kB"}
READ_BYTES = 12 << 20
"""Bytes that one catch-up reads, unless ``READ_RECORDS`` is less."""

READ_RECORDS = 25_000
APPEND_GOAL, READ_GOAL, PEER_GOAL = 0.5, 0.7, 5.0
PEER_CALLERS = 100
TAILS, TAIL_PER_S, TAIL_RECORDS = 100, 500, 1000
WRITE = "--write"

HEADERS = (("type", "PackageMessage"), ("version", "1.0"), ("id", "0" * 32))
BARE_HEADERS = b"\0".join(part.encode() for pair in HEADERS for part in pair)

CREATE = """
    CREATE SEQUENCE offsets_{0};
    CREATE TABLE bare_{0} (
        off bigint PRIMARY KEY, time_ns bigint NOT NULL, key bytea, headers bytea NOT NULL, payload bytea NOT NULL);
    CREATE UNIQUE INDEX ON bare_{0} (key) WHERE key IS NOT NULL;
    ALTER TABLE bare_{0} ALTER payload SET STORAGE EXTERNAL"""
INSERT = """
    WITH lock AS MATERIALIZED (SELECT pg_advisory_xact_lock(1, {0}))
    INSERT INTO bare_{0} SELECT nextval('offsets_{0}'), $1, k, h, p
    FROM lock, unnest($2::bytea[], $3::bytea[], $4::bytea[]) WITH ORDINALITY AS b(k, h, p, n) ORDER BY n
    ON CONFLICT DO NOTHING RETURNING off"""
SELECT = "SELECT off, time_ns, payload, headers FROM bare_{0} WHERE off >= $1 ORDER BY off LIMIT $2"


async def per_second(step: Callable[[], Awaitable[int]], callers: int = 1) -> float:
    """Records a second of that many closed loops of ``step``, which returns how many it did."""
    loop = asyncio.get_running_loop()
    began = loop.time()

    async def caller() -> int:
        done = 0
        while loop.time() < began + RUN_S:
            done += await step()
        return done

    return sum(await asyncio.gather(*(caller() for _ in range(callers)))) / (loop.time() - began)


def measure_append(
    report: Report, run: asyncio.Runner, log: Log, db: Connection, *, size: int, callers: int, keys: bool = False
) -> None:
    payload, insert, numbers = os.urandom(size), INSERT.format(size), count()
    record = NewRecord(payload=payload, headers=HEADERS)

    async def ours() -> int:
        key = f"{callers} {size} {next(numbers)}" if keys else ""
        await log.append("package", [NewRecord(payload=payload, headers=HEADERS, key=key) if key else record])
        return 1

    async def bare() -> int:
        digests = [os.urandom(32) if keys else None for _ in range(callers)]
        return len(await db.fetch(insert, time.time_ns(), digests, [BARE_HEADERS] * callers, [payload] * callers))

    figures = rounds(
        ROUNDS, {"ours": lambda: run.run(per_second(ours, callers)), "bare": lambda: run.run(per_second(bare))}
    )
    question = f"append {SIZES[size]}, {callers} callers{', with keys' if keys else ''}"
    report.row(question, figures["ours"], figures["bare"], unit="records/s", peer_name="asyncpg", goal=APPEND_GOAL)


def measure_read(report: Report, run: asyncio.Runner, log: Log, db: Connection, size: int) -> None:
    topic, total = f"read-{size}", min(READ_RECORDS, READ_BYTES // size)
    page = min(READ_RECORDS_MAX, GROUP_BYTES // (size + len(BARE_HEADERS)))
    run.run(log.ensure(topic))
    run.run(db.execute(f"TRUNCATE bare_{size}; ALTER SEQUENCE offsets_{size} RESTART"))
    for _ in range(0, total, page):
        payloads = [os.urandom(size) for _ in range(page)]
        run.run(log.append(topic, [NewRecord(payload=payload, headers=HEADERS) for payload in payloads]))
        run.run(db.fetch(INSERT.format(size), 1, [None] * page, [BARE_HEADERS] * page, payloads))

    async def ours() -> float:
        began, start, found = time.perf_counter(), 1, 0
        while records := await log.read(topic, start, page):
            start, found = records[-1].offset + 1, found + len(records)
        return found / (time.perf_counter() - began)

    async def bare(make: Callable[[list[Row]], Sequence[object]]) -> float:
        began, start, found = time.perf_counter(), 1, 0
        while rows := await db.fetch(SELECT.format(size), start, page):
            start, found = rows[-1]["off"] + 1, found + len(make(rows))
        return found / (time.perf_counter() - began)

    figures = rounds(
        ROUNDS,
        {
            "ours": lambda: run.run(ours()),
            "rows": lambda: run.run(bare(list)),
            "records": lambda: run.run(bare(lambda rows: records_of(map(tuple, rows)))),
        },
    )
    for made in ("rows", "records"):
        report.row(f"catch up, {SIZES[size]}", figures["ours"], figures[made], unit="records/s", peer_name="asyncpg",
                   goal=READ_GOAL, note=f"the peer makes {made}")  # fmt: skip


def measure_event_store(report: Report, run: asyncio.Runner, log: Log, server: PostgresServer, size: int) -> None:
    from eventsourcing.persistence import StoredEvent
    from eventsourcing.postgres import PostgresApplicationRecorder, PostgresDatastore

    store = PostgresDatastore(
        "postgres", "127.0.0.1", str(server.port), "postgres", server.tcp_url.split(":")[2].split("@")[0]
    )
    recorder = PostgresApplicationRecorder(store, events_table_name=f"events_{size}")
    recorder.create_table()
    payload = os.urandom(size)
    record = NewRecord(payload=payload, headers=HEADERS)

    async def ours() -> int:
        await log.append("package", [record])
        return 1

    def peer() -> float:
        until = time.perf_counter() + RUN_S * 3

        def caller(_: int) -> int:
            done = 0
            while time.perf_counter() < until:
                recorder.insert_events([StoredEvent(uuid.uuid4(), 0, "PackageMessage", payload)])
                done += 1
            return done

        began = time.perf_counter()
        with ThreadPoolExecutor(PEER_CALLERS) as threads:
            return sum(threads.map(caller, range(PEER_CALLERS))) / (time.perf_counter() - began)

    figures = rounds(ROUNDS, {"ours": lambda: run.run(per_second(ours, PEER_CALLERS)), "peer": peer})
    store.close()
    question = f"append {SIZES[size]}, {PEER_CALLERS} callers"
    report.row(question, figures["ours"], figures["peer"], unit="records/s", peer_name="eventsourcing", goal=PEER_GOAL,
               note="its default recorder, a thread for each caller")  # fmt: skip


async def wake_up_ms(url: str) -> tuple[float, float]:
    """For the consumers of one tail: from before an append until one has the record, and until it is written.

    The 99th percentile of both. Another process writes.
    """
    tail = SharedTail(PostgresLog(url))
    await tail.ensure("tailed")
    end = (await tail.bounds("tailed")).end
    late_ms = list[float]()

    async def consume() -> None:
        start, seen = end, 0
        while seen < TAIL_RECORDS:
            await tail.wait("tailed", start, 10.0)
            for record in await tail.read("tailed", start):
                late_ms.append((time.perf_counter_ns() - int(record.payload)) / 1e6)
                start, seen = record.offset + 1, seen + 1

    consumers = asyncio.gather(*(consume() for _ in range(TAILS)))
    writer = await asyncio.create_subprocess_exec(sys.executable, __file__, WRITE, url, stdout=PIPE)
    out, _ = await writer.communicate()
    await consumers
    await tail.close()
    return statistics.quantiles(late_ms, n=100)[98], float(out)


async def write(url: str) -> float:
    """The process that writes for the consumers: append at the rate, return the 99th percentile in ms."""
    log, written_ms = PostgresLog(url), list[float]()
    await log.ensure("tailed")

    async def append(due: float) -> None:
        await asyncio.sleep(due - asyncio.get_running_loop().time())
        began = time.perf_counter_ns()
        await log.append("tailed", [NewRecord(payload=str(began).encode())])
        written_ms.append((time.perf_counter_ns() - began) / 1e6)

    begin = asyncio.get_running_loop().time() + 0.2
    await asyncio.gather(*(append(begin + number / TAIL_PER_S) for number in range(TAIL_RECORDS)))
    await log.close()
    return statistics.quantiles(written_ms, n=100)[98]


def main() -> None:
    report = Report("postgres")
    with postgres_server() as server, asyncio.Runner() as run:
        log, db = PostgresLog(server.url), run.run(Server.of(server.url).connect())
        run.run(log.ensure("package"))
        for size in SIZES:
            run.run(db.execute(CREATE.format(size)))
            for callers in CALLERS:
                measure_append(report, run, log, db, size=size, callers=callers)
        measure_append(report, run, log, db, size=200, callers=100, keys=True)
        for size in SIZES:
            measure_read(report, run, log, db, size)
        if find_spec("eventsourcing"):
            for size in (200, 10_000):
                measure_event_store(report, run, log, server, size)
        else:
            print('not measured: eventsourcing; pip install "eventsourcing[postgres]" "psycopg[binary]"')
        late, written = zip(*(run.run(wake_up_ms(server.url)) for _ in range(ROUNDS)), strict=True)
        report.row(f"{TAILS} consumers at {TAIL_PER_S} records/s, p99 until one has it", late, written, unit="ms",
                   peer_name="until written", note="less is better; to reach: 20 ms")  # fmt: skip
        run.run(log.close())
        run.run(db.close())
    report.write()


if __name__ == "__main__":
    if sys.argv[1:2] == [WRITE]:
        print(asyncio.run(write(sys.argv[2])))
    else:
        main()
