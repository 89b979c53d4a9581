"""The contestants of ``jobs.py``: what adds no-op jobs, and what a process does that runs them."""
# The methods are described in Queue, and a job's function takes what its queue gives it.
# ruff: noqa: ARG001, ARG002, D101, D102

import asyncio
from abc import abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncpg

from callboard import Callboard, NewJob

SLOTS = 50
TOPIC = "noop"

Ran = Callable[[], None]
"""Counts a job that runs."""

Adds = tuple[Callable[[int], Awaitable[None]], Callable[[], Awaitable[None]]]
"""Adds the given number of jobs in one call; adds a single one."""


class Queue:
    """A job queue; the processes that ``work`` are killed."""

    most = 1_000_000
    """Jobs that are added for a run: fewer where adding them takes long."""

    def __init__(self, url: str, folder: str) -> None:
        self.url, self.folder = url, folder

    @abstractmethod
    def adding(self) -> AbstractAsyncContextManager[Adds]:
        """Connect, and give the functions that add."""

    async def prepare(self) -> None:
        """Make an empty queue."""

    async def open(self) -> None:
        """Let the jobs run, which may before; here, plan statements as the server does a minute later."""
        if self.url.startswith("postgresql:"):
            db = await asyncpg.connect(self.url)
            await db.execute("ANALYZE")
            await db.close()

    @abstractmethod
    async def work(self, name: str, ready: Callable[[], None], ran: Ran) -> None:
        """Run jobs without end, after saying that this is ready; ``name`` is the worker's."""


class OfCallboard(Queue):
    prefix = "bench"

    def board(self) -> Callboard:
        blobs: Any = {"blobs": "./blobs"} if self.url.startswith("postgresql:") else {}
        return Callboard(self.url, base=Path(self.folder), prefix=self.prefix, **blobs)

    async def prepare(self) -> None:
        async with self.board() as board:
            await board.jobs.suspend("main")

    async def open(self) -> None:
        async with self.board() as board:
            await board.jobs.resume("main")

    @asynccontextmanager
    async def adding(self) -> AsyncIterator[Adds]:
        async with self.board() as board:

            async def add(many: int) -> None:
                await board.jobs.add_all([NewJob(topic=TOPIC, payload=number) for number in range(many)])

            async def add_one() -> None:
                await board.jobs.add(TOPIC, 1)

            yield add, add_one

    async def work(self, name: str, ready: Callable[[], None], ran: Ran) -> None:
        async def run(_: int) -> None:
            ran()

        async with self.board() as board, board.jobs.worker({TOPIC: run}, slots=SLOTS, instance=name):
            ready()
            await asyncio.Event().wait()


class OfProcrastinate(Queue):
    def app(self, ran: Ran) -> tuple[Any, Any]:
        import procrastinate

        app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=self.url))

        @app.task(name=TOPIC)
        async def run(number: int) -> None:
            ran()

        return app, run

    async def prepare(self) -> None:
        db = await asyncpg.connect(self.url)
        await db.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        await db.close()
        app, _ = self.app(lambda: None)
        async with app.open_async():
            await app.schema_manager.apply_schema_async()

    @asynccontextmanager
    async def adding(self) -> AsyncIterator[Adds]:
        app, task = self.app(lambda: None)

        async def add(many: int) -> None:
            await task.batch_defer_async(*[{"number": number} for number in range(many)])

        async def add_one() -> None:
            await task.defer_async(number=1)

        async with app.open_async():
            yield add, add_one

    async def work(self, name: str, ready: Callable[[], None], ran: Ran) -> None:
        app, _ = self.app(ran)
        async with app.open_async():
            ready()
            await app.run_worker_async(concurrency=SLOTS, name=name, install_signal_handlers=False)


class OfPgqueuer(Queue):
    async def prepare(self) -> None:
        from pgqueuer import AsyncpgDriver, Queries

        db = await asyncpg.connect(self.url)
        await db.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        await Queries(AsyncpgDriver(db)).install()
        await db.close()

    @asynccontextmanager
    async def adding(self) -> AsyncIterator[Adds]:
        from pgqueuer import AsyncpgPoolDriver, Queries

        db = await asyncpg.create_pool(self.url)
        queries = Queries(AsyncpgPoolDriver(db))

        async def add(many: int) -> None:
            await queries.enqueue([TOPIC] * many, [b"1"] * many, [0] * many)

        async def add_one() -> None:
            await queries.enqueue(TOPIC, b"1")

        yield add, add_one
        await db.close()

    async def work(self, name: str, ready: Callable[[], None], ran: Ran) -> None:
        from pgqueuer import AsyncpgDriver, PgQueuer

        queuer = PgQueuer(AsyncpgDriver(await asyncpg.connect(self.url)))

        @queuer.entrypoint(TOPIC)
        async def run(job: Any) -> None:
            ran()

        ready()
        await queuer.run(dequeue_timeout=timedelta(seconds=1), batch_size=SLOTS)


class OfTable(Queue):
    """The bare statements: INSERT, and UPDATE .. SKIP LOCKED for each job, which claims and ends it at once."""

    async def prepare(self) -> None:
        db = await asyncpg.connect(self.url)
        await db.execute(
            "DROP SCHEMA public CASCADE; CREATE SCHEMA public;"
            "CREATE TABLE jobs (id bigserial PRIMARY KEY, done bool NOT NULL DEFAULT false, payload jsonb);"
            "CREATE INDEX ON jobs (id) WHERE NOT done"
        )
        await db.close()

    @asynccontextmanager
    async def adding(self) -> AsyncIterator[Adds]:
        db = await asyncpg.create_pool(self.url)

        async def add(many: int) -> None:
            await db.execute("INSERT INTO jobs (payload) SELECT unnest($1::jsonb[])", ["1"] * many)

        async def add_one() -> None:
            await db.execute("INSERT INTO jobs (payload) VALUES ($1)", "1")

        yield add, add_one
        await db.close()

    async def work(self, name: str, ready: Callable[[], None], ran: Ran) -> None:
        db = await asyncpg.connect(self.url)
        ready()
        while True:
            said = await db.execute(
                "UPDATE jobs SET done = true WHERE id ="
                " (SELECT id FROM jobs WHERE NOT done ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1)"
            )
            if said == "UPDATE 1":
                ran()
            else:
                await asyncio.sleep(0.01)


class OnRedis(Queue):
    """What adds by calls that block."""

    async def prepare(self) -> None:
        import redis

        redis.Redis.from_url(self.url).flushall()

    @abstractmethod
    def setting_up(self, ran: Ran) -> tuple[Any, Callable[[], object]]:
        """The application, and what adds a job to it."""

    @asynccontextmanager
    async def adding(self) -> AsyncIterator[Adds]:
        _, one = self.setting_up(lambda: None)

        async def add(many: int) -> None:
            for _ in range(many):
                one()

        async def add_one() -> None:
            one()

        yield add, add_one


class OfCelery(OnRedis):
    most = 2000

    def setting_up(self, ran: Ran) -> tuple[Any, Callable[[], object]]:
        import celery

        app = celery.Celery(broker=self.url)
        app.conf.update(task_ignore_result=True, worker_hijack_root_logger=False)

        @app.task(name=TOPIC)
        def run(number: int) -> None:
            ran()

        return app, lambda: run.delay(1)

    async def work(self, name: str, ready: Callable[[], None], ran: Ran) -> None:
        app, _ = self.setting_up(ran)
        ready()
        words = ["worker", "-P", "solo", "-n", name, "--without-gossip", "--without-mingle", "--without-heartbeat"]
        app.worker_main([*words, "-l", "CRITICAL"])


class OfDramatiq(OnRedis):
    def setting_up(self, ran: Ran) -> tuple[Any, Callable[[], object]]:
        import dramatiq
        from dramatiq.brokers.redis import RedisBroker

        broker = RedisBroker(url=self.url)

        @dramatiq.actor(actor_name=TOPIC, broker=broker)
        def run(number: int) -> None:
            ran()

        return broker, lambda: run.send(1)

    async def work(self, name: str, ready: Callable[[], None], ran: Ran) -> None:
        import dramatiq

        broker, _ = self.setting_up(ran)
        ready()
        dramatiq.Worker(broker, worker_threads=8).start()
        await asyncio.Event().wait()


QUEUES: dict[str, tuple[type[Queue], str, tuple[str, ...]]] = {
    "callboard, PostgreSQL": (OfCallboard, "postgres", ("callboard", "asyncpg")),
    "callboard, SQLite": (OfCallboard, "sqlite", ("callboard",)),
    "procrastinate": (OfProcrastinate, "postgres", ("procrastinate", "psycopg")),
    "pgqueuer": (OfPgqueuer, "postgres", ("pgqueuer", "asyncpg")),
    "bare INSERT, UPDATE .. SKIP LOCKED": (OfTable, "postgres", ("asyncpg",)),
    "Celery, solo pool": (OfCelery, "redis", ("celery", "redis")),
    "Dramatiq, 8 threads": (OfDramatiq, "redis", ("dramatiq", "redis")),
}
"""By name: the class, the server, and the packages."""
