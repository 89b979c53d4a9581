"""Jobs that are added within a transaction of the caller's database: each of them once, or not at all."""

import asyncio
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import psycopg
import pytest
import structlog

import callboard.sync
from callboard import BoardJobs, Callboard, ConfigError, NewJob, RequestRefused, RunningJob
from callboard.actors.jobs.rules import adding
from callboard.backends.postgres.outbox import SQL, OutboxTable, opened, server_of
from callboard.backends.postgres.server import Connection, Server
from callboard.board.jobs.outbox import outbox as running
from callboard.messages.topics import job_topic
from tests.e2e.conftest import DEADLINE_S
from tests.unit.board.member.test_interruptions import cancelled_after

Scenario = Callable[[BoardJobs, Connection], Awaitable[None]]


@pytest.fixture(autouse=True)
def _polls_are_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that only notifications are in time."""
    monkeypatch.setattr(running, "POLL_S", 10 * DEADLINE_S)


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Connection]:
    """A connection of a caller."""
    server = Server.of(url)
    connection = await asyncpg.connect(server.dsn, server_settings={"search_path": server.schema})
    try:
        yield connection
    finally:
        await connection.close()


def run(url: str, folder: Path, scenario: Scenario) -> None:
    """Run it with the table, which is empty, and a board in memory."""

    async def within() -> None:
        async with asyncio.timeout(DEADLINE_S), Callboard("memory:", base=folder) as board, connected(url) as caller:
            await caller.execute(f"CREATE SCHEMA IF NOT EXISTS {Server.of(url).schema}")
            await board.jobs.outbox(url).create()
            await scenario(board.jobs, caller)

    asyncio.run(within())


async def payloads(jobs: BoardJobs) -> list[object]:
    found = (await jobs.find(limit=1000)).items
    return [job.payload for each in found if (job := await jobs.get(each.id))]


async def emptied(caller: Connection) -> None:
    """Wait until the table is empty, but for what is set aside."""
    while await caller.fetchval("SELECT count(*) FROM callboard_outbox WHERE problem IS NULL"):  # noqa: ASYNC110 - it is in a database
        await asyncio.sleep(0.01)


async def relayed(jobs: BoardJobs, url: str, caller: Connection) -> list[object]:
    async with jobs.outbox(url):
        await emptied(caller)
    return await payloads(jobs)


def test_a_commit_adds_its_jobs_in_their_order_with_their_options(postgres_url: str, tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs, caller: Connection) -> None:
        async with jobs.outbox(postgres_url):
            async with caller.transaction():
                await jobs.add_within(caller, "a", 1, priority=5, unique="k", delay_s=3600, title="one")
                await jobs.add_all_within(caller, [NewJob(topic="b", payload=n) for n in range(2, 1500)])
            await emptied(caller)
        first, *_ = (await jobs.find(limit=1)).items
        assert (first.priority, first.unique, first.title) == (5, "k", "one")
        assert 0 < first.due_ms - jobs._board.now_ns() // 10**6 <= 3_600_000
        added = [job for states in [await jobs.find(limit=1000), await jobs.find(after=first.id, limit=1000)]
                 for job in states.items]  # fmt: skip
        assert len({job.id for job in added}) > 1000
        newest = (await jobs.find(newest=True, limit=1)).items[0]
        assert await payloads(jobs) == list(range(1, 1001))
        assert (found := await jobs.get(newest.id))
        assert found.payload == 1499

    run(postgres_url, tmp_path, scenario)


def test_a_rollback_adds_nothing_and_neither_does_one_to_a_savepoint(postgres_url: str, tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs, caller: Connection) -> None:
        outer = caller.transaction()
        await outer.start()
        await jobs.add_within(caller, "a", "rolled back")
        await outer.rollback()
        async with caller.transaction():
            await jobs.add_within(caller, "a", "before")
            savepoint = caller.transaction()
            await savepoint.start()
            await jobs.add_within(caller, "a", "rolled back")
            await savepoint.rollback()
            await jobs.add_within(caller, "a", "after")
        assert await relayed(jobs, postgres_url, caller) == ["before", "after"]

    run(postgres_url, tmp_path, scenario)


def test_psycopg_adds_jobs_with_and_without_an_event_loop(postgres_url: str, tmp_path: Path) -> None:
    server = Server.of(postgres_url)
    options = f"-c search_path={server.schema}"

    async def scenario(jobs: BoardJobs, caller: Connection) -> None:
        async with await psycopg.AsyncConnection.connect(server.dsn, options=options) as connection:
            await jobs.add_within(connection, "a", "asynchronous")
            await connection.commit()
            await jobs.add_within(connection, "a", "rolled back")
            await connection.rollback()

        def blocking() -> None:
            with psycopg.connect(server.dsn, options=options) as connection:
                own = callboard.sync.Callboard("memory:", base=tmp_path).jobs
                own.add_within(connection, "a", {"blocking": True}, lane="l")
                connection.commit()
                own.add_all_within(connection, [NewJob(topic="a", payload="rolled back")])
                connection.rollback()

        await asyncio.to_thread(blocking)
        assert await relayed(jobs, postgres_url, caller) == ["asynchronous", {"blocking": True}]

    run(postgres_url, tmp_path, scenario)


def test_the_outbox_is_emptied_without_an_event_loop(postgres_url: str, tmp_path: Path) -> None:
    with callboard.sync.Callboard("memory:", base=tmp_path) as board:
        outbox = board.jobs.outbox(postgres_url)
        with psycopg.connect(Server.of(postgres_url).dsn, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {Server.of(postgres_url).schema}")
            outbox.create()
            connection.execute(f"SET search_path = {Server.of(postgres_url).schema}")
            with connection.transaction():
                board.jobs.add_within(connection, "a", 1)
        assert outbox.state().waiting == 1
        with outbox:
            job = next(each for each in iter(lambda: board.jobs.find().items, None) if each)[0]
        assert job.topic == "a"


def test_the_context_of_the_callers_logs_goes_with_the_job(postgres_url: str, tmp_path: Path) -> None:
    server = Server.of(postgres_url)
    seen = []

    def look(_: object, job: RunningJob) -> None:
        seen.append(dict(job.context))

    def blocking() -> None:
        own = callboard.sync.Callboard("memory:", base=tmp_path, job_context=("request_id",)).jobs
        with psycopg.connect(server.dsn, options=f"-c search_path={server.schema}") as connection:
            own.add_within(connection, "a")

    async def scenario(jobs: BoardJobs, caller: Connection) -> None:
        jobs = Callboard("memory:", base=tmp_path, job_context=("request_id",)).jobs
        with structlog.contextvars.bound_contextvars(request_id="r-1", password="secret"):
            async with caller.transaction():
                await jobs.add_within(caller, "a")
                await jobs.add_within(caller, "a", context={"order": "7"})
            await asyncio.to_thread(blocking)
        async with Callboard("memory:", base=tmp_path) as other, other.jobs.outbox(postgres_url):
            await emptied(caller)
            async with other.jobs.worker({"a": look}, slots=1):
                for job in (await other.jobs.find(("open", "history"))).items:
                    await other.jobs.wait(job.id)
        assert seen == [{"request_id": "r-1"}, {"order": "7"}, {"request_id": "r-1"}]

    run(postgres_url, tmp_path, scenario)


def test_a_transaction_that_stays_open_holds_up_nobody(postgres_url: str, tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs, caller: Connection) -> None:
        async with connected(postgres_url) as other, jobs.outbox(postgres_url):
            async with caller.transaction():
                await jobs.add_within(caller, "a", "slow")
                for n in range(3):
                    async with other.transaction():
                        await jobs.add_within(other, "a", n)
                    await emptied(other)
                    await jobs.add("a", f"on the log {n}")
                assert await payloads(jobs) == [0, "on the log 0", 1, "on the log 1", 2, "on the log 2"]
            await emptied(other)
            assert (await payloads(jobs))[-1] == "slow"

    run(postgres_url, tmp_path, scenario)


@pytest.mark.parametrize("bad", [{"priority": 101}, {"nonsense": 1}, {"unique": "\n"}, {"payload": object()},
                                 {"payload": b"x" * 300_000}, {"topic": "a b"}, {"payload": float("nan")},
                                 {"after": [7]}])  # fmt: skip
def test_wrong_jobs_are_refused_at_once_and_leave_the_transaction_alone(
    postgres_url: str, tmp_path: Path, bad: dict[str, Any]
) -> None:
    async def scenario(jobs: BoardJobs, caller: Connection) -> None:
        async with caller.transaction():
            with pytest.raises((RequestRefused, TypeError)):
                await jobs.add_within(caller, **{"topic": "a", **bad})
            await jobs.add_within(caller, "a", "good")
        assert await relayed(jobs, postgres_url, caller) == ["good"]

    run(postgres_url, tmp_path, scenario)


def test_a_connection_that_will_not_do_is_refused(postgres_url: str, tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs, caller: Connection) -> None:
        blocking = callboard.sync.Callboard("memory:", base=tmp_path).jobs
        with pytest.raises(RequestRefused, match="in no transaction"):
            await jobs.add_within(caller, "a")
        with pytest.raises(RequestRefused, match=r"asyncpg.*use callboard without sync"):
            blocking.add_within(caller, "a")
        for wrong in (None, 7, "postgresql://here"):
            with pytest.raises(RequestRefused, match="not an asyncpg connection"):
                await jobs.add_within(wrong, "a")
            with pytest.raises(RequestRefused, match=r"not a psycopg\.Connection"):
                blocking.add_within(wrong, "a")
        await caller.execute("DROP TABLE callboard_outbox")
        with pytest.raises(ConfigError, match="callboard outbox create"):
            async with caller.transaction():
                await jobs.add_within(caller, "a")
        with pytest.raises(ConfigError, match="callboard outbox create"):
            await jobs.outbox(postgres_url).start()

    run(postgres_url, tmp_path, scenario)


class OfDjango:
    """A connection as Django wraps it, which is not connected before it is used."""

    def __init__(self, vendor: str, connection: psycopg.Connection) -> None:
        self.vendor, self._connection, self.autocommit = vendor, connection, False

    def get_autocommit(self) -> bool:
        self.autocommit = self._connection.autocommit
        return self.autocommit

    def cursor(self) -> psycopg.Cursor:
        return self._connection.cursor()


def test_a_connection_that_would_commit_at_once_is_refused_whatever_its_driver(
    postgres_url: str, tmp_path: Path
) -> None:
    server = Server.of(postgres_url)
    options = f"-c search_path={server.schema}"

    async def scenario(jobs: BoardJobs, caller: Connection) -> None:
        async with asyncpg.create_pool(server.dsn, min_size=1, max_size=1) as pool:
            with pytest.raises(RequestRefused, match=r"asyncpg\.pool\.Pool, not an asyncpg connection"):
                await jobs.add_within(pool, "a")
        async with await psycopg.AsyncConnection.connect(server.dsn, autocommit=True, options=options) as connection:
            with pytest.raises(RequestRefused, match="in no transaction"):
                await jobs.add_within(connection, "a")
            async with connection.transaction():
                await jobs.add_within(connection, "a", "asynchronous")
        with pytest.raises(RequestRefused, match="is closed"):
            await jobs.add_within(connection, "a")
        async with connected(postgres_url) as closed:
            pass
        with pytest.raises(RequestRefused, match="is closed"):
            await jobs.add_within(closed, "a")
        await asyncio.to_thread(blocking)
        assert await relayed(jobs, postgres_url, caller) == ["asynchronous", "atomic"]

    def blocking() -> None:
        jobs = callboard.sync.Callboard("memory:", base=tmp_path).jobs
        with psycopg.connect(server.dsn, autocommit=True, options=options) as connection:
            for refused in (connection, OfDjango("postgresql", connection)):
                with pytest.raises(RequestRefused, match=r"in no transaction.*transaction\.atomic"):
                    jobs.add_within(refused, "a")
            for unfit in (OfDjango("sqlite", connection), connection.cursor(), sqlite3.connect(":memory:")):
                with pytest.raises(RequestRefused, match=r"not a psycopg\.Connection, or Django's"):
                    jobs.add_within(unfit, "a")
            connection.autocommit = False
            jobs.add_within(OfDjango("postgresql", connection), "a", "atomic")
            connection.commit()
        with pytest.raises(RequestRefused, match="is closed"):
            jobs.add_within(connection, "a")

    run(postgres_url, tmp_path, scenario)


STEPS = [f"{when}-{place}" for place in ("assigning", "appending", "removing") for when in ("before", "after")]


def test_each_job_is_added_once_while_relays_are_killed_at_every_step(postgres_url: str, tmp_path: Path) -> None:
    log, program = f"sqlite:///{tmp_path}/board.db", Path(__file__).with_name("dying_relay.py")

    async def scenario() -> None:
        async with Callboard(log) as board, connected(postgres_url) as caller:
            await caller.execute(f"CREATE SCHEMA {Server.of(postgres_url).schema}")
            await board.jobs.outbox(postgres_url).create()
            for step in STEPS:
                async with caller.transaction():
                    for part in range(2):
                        await board.jobs.add_within(caller, "a", f"{step} {part}")
                command = [sys.executable, str(program), postgres_url, log, step]
                done = await asyncio.to_thread(subprocess.run, command, timeout=DEADLINE_S, check=False)
                assert done.returncode == -signal.SIGKILL
            expected = [f"{step} {part}" for step in STEPS for part in range(2)]
            assert await relayed(board.jobs, postgres_url, caller) == expected

    asyncio.run(scenario())


def test_of_two_relays_the_second_takes_over_when_the_first_loses_its_connection(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "POLL_S", 0.05)
    lock = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted"

    async def scenario(jobs: BoardJobs, caller: Connection) -> None:
        async with jobs.outbox(postgres_url), jobs.outbox(postgres_url):
            for n in range(20):
                async with caller.transaction():
                    await jobs.add_within(caller, "a", n)
                await caller.execute(f"SELECT pg_terminate_backend(pid) FROM ({lock}) AS relay")
            await emptied(caller)
        assert await payloads(jobs) == list(range(20))

    run(postgres_url, tmp_path, scenario)


async def begun(jobs: BoardJobs, url: str, caller: Connection, *, appended: bool) -> None:
    """Leave a batch behind as a relay that ended right before, or after, its append."""
    async with caller.transaction():
        await jobs.add_within(caller, "a", "once")
    outbox = jobs.outbox(url)
    await jobs._board.log.ensure(job_topic())
    async with opened(server_of(url)) as table:
        assert await outbox._begin(table)
        if appended:
            batch = running.Batch.of((await table.batches())[0])
            assert await outbox._appended(batch, await table.rows(str(batch))) is None


@pytest.mark.parametrize("appended", [True, False])
def test_a_relay_that_comes_back_after_its_batch_is_forgotten_adds_it_once(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, appended: bool
) -> None:
    monkeypatch.setattr(running, "WINDOW", 3)
    monkeypatch.setattr(adding, "REQUESTS_MAX", 3)

    async def scenario(jobs: BoardJobs, caller: Connection) -> None:
        await begun(jobs, postgres_url, caller, appended=appended)
        for n in range(5):
            await jobs.add("a", n)
        expected = ["once", *range(5)] if appended else [*range(5), "once"]
        assert await relayed(jobs, postgres_url, caller) == expected

    run(postgres_url, tmp_path, scenario)


def test_a_record_that_comes_too_late_adds_nothing_and_its_jobs_are_added_by_another(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "WINDOW", 3)

    async def scenario(jobs: BoardJobs, caller: Connection) -> None:
        await begun(jobs, postgres_url, caller, appended=False)
        outbox = jobs.outbox(postgres_url)
        real = jobs._board.log.append

        async def slow(topic: str, records: Any) -> list[int]:
            monkeypatch.setattr(jobs._board.log, "append", real)
            for n in range(5):
                await jobs.add("a", n)
            return await real(topic, records)

        async with opened(server_of(postgres_url)) as table:
            batch = running.Batch.of((await table.batches())[0])
            monkeypatch.setattr(jobs._board.log, "append", slow)
            assert await outbox._appended(batch, await table.rows(str(batch))) == running.LATE
        assert await relayed(jobs, postgres_url, caller) == [*range(5), "once"]

    run(postgres_url, tmp_path, scenario)


def test_what_may_be_on_another_log_is_set_aside(postgres_url: str, tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs, caller: Connection) -> None:
        await begun(jobs, postgres_url, caller, appended=True)
        async with Callboard("memory:", base=tmp_path / "other") as other:
            assert await relayed(other.jobs, postgres_url, caller) == []
            state = await other.jobs.outbox(postgres_url).state()
        assert (state.waiting, state.set_aside) == (0, 1)
        assert "another log" in state.problem

    run(postgres_url, tmp_path, scenario)


def test_a_relay_that_is_cancelled_at_any_point_leaves_the_outbox_to_the_next_one(
    postgres_url: str, tmp_path: Path
) -> None:
    def relays() -> list[str]:
        return [task.get_name() for task in asyncio.all_tasks() if task.get_name() == "callboard-outbox"]

    async def scenario(jobs: BoardJobs, caller: Connection) -> None:
        in_time, steps = True, 0
        while in_time:
            outbox = jobs.outbox(postgres_url)
            in_time = await cancelled_after(steps, asyncio.create_task(outbox.start()))
            await cancelled_after(steps % 3, asyncio.create_task(outbox.stop()))
            await outbox.stop()
            assert relays() == [], steps
            steps = steps + 1 if steps < 20 else 4 * steps
        async with caller.transaction():
            await jobs.add_within(caller, "a", "after")
        assert await relayed(jobs, postgres_url, caller) == ["after"], "a connection that was left has the lock"

    run(postgres_url, tmp_path, scenario)


def test_rows_that_cannot_be_jobs_are_set_aside_and_hold_up_no_others(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = [("a b", "{}"), ("a", '{"priority": 1000}'), ("a", '{"nonsense": 1}'), ("a", "[]"), ("a", "7"),
           ("a", '{"payload": 1}'), ("a", '{"topic": "b"}'), ("", "{}"), ("a", '{"unique": "\\n"}')]  # fmt: skip
    monkeypatch.setattr(adding, "TOPICS_MAX", 2)

    async def scenario(jobs: BoardJobs, caller: Connection) -> None:
        insert = "INSERT INTO callboard_outbox (topic, payload, options) VALUES ($1, '\"good\"', $2::jsonb)"
        for topic, options in bad:
            await caller.execute(insert, topic, options)
        await caller.execute(insert, "a", "{}")
        assert await relayed(jobs, postgres_url, caller) == ["good"]
        assert await caller.fetchval("SELECT count(*) FROM callboard_outbox WHERE problem <> ''") == len(bad)
        for topic in ("b", "c"):
            await caller.execute(insert, topic, "{}")
            await relayed(jobs, postgres_url, caller)
        assert "topics already" in await caller.fetchval("SELECT problem FROM callboard_outbox WHERE topic = 'c'")
        await caller.execute("UPDATE callboard_outbox SET problem = NULL WHERE topic = 'c'")
        adding.TOPICS_MAX = 3
        assert await relayed(jobs, postgres_url, caller) == ["good"] * 3

    run(postgres_url, tmp_path, scenario)


def test_a_relay_goes_on_when_the_log_or_the_database_fails(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(jobs: BoardJobs, caller: Connection) -> None:
        real, failures = OutboxTable.remove, iter([True, True])

        async def remove(self: OutboxTable, batch: str) -> None:
            if next(failures, False):
                async with connected(postgres_url) as killer:
                    await killer.execute("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'")
            await real(self, batch)

        monkeypatch.setattr(OutboxTable, "remove", remove)
        async with jobs.outbox(postgres_url):
            for n in range(3):
                async with caller.transaction():
                    await jobs.add_within(caller, "a", n)
            await emptied(caller)
        assert await payloads(jobs) == [0, 1, 2]

    run(postgres_url, tmp_path, scenario)


def test_the_sql_may_be_run_twice(postgres_url: str, tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs, caller: Connection) -> None:
        await caller.execute(SQL)
        await jobs.outbox(postgres_url).create()
        assert (await jobs.outbox(postgres_url).state()).waiting == 0

    run(postgres_url, tmp_path, scenario)
