"""The server dies and connections are cut: errors are visible, no record is lost or repeated, and work continues."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from callboard.backends.logs.postgres import PostgresLog
from callboard.backends.logs.postgres import log as log_module
from callboard.backends.postgres.server import Connection, Server
from callboard.errors import LogUnavailable
from callboard.messages.record import NewRecord
from callboard.testing.servers.postgres import PostgresServer, postgres_server

DEADLINE_S = 60.0
KILLS = 3

T = TypeVar("T")


async def persevere(call: Callable[[], Awaitable[T]], failures: list[str]) -> T:
    """Retry while the log is unavailable, as its users do."""
    while True:
        try:
            return await call()
        except LogUnavailable as error:
            failures.append(str(error))
            await asyncio.sleep(0)


async def write(log: PostgresLog, name: str, running: Callable[[], bool], failures: list[str]) -> list[str]:
    texts: list[str] = []
    while running():
        batch = [f"{name} {len(texts) + part}" for part in range(2)]
        records = [NewRecord(payload=text.encode(), key=text) for text in batch]
        await persevere(lambda records=records: log.append("package", records), failures)
        texts += batch
    return texts


async def follow(log: PostgresLog, enough: Callable[[list[str]], bool], failures: list[str]) -> list[str]:
    found: list[str] = []
    start = 1
    while not enough(found):
        if await persevere(lambda start=start: log.wait("package", start, 0.1), failures):
            for record in await persevere(lambda start=start: log.read("package", start, 7), failures):
                found.append(record.payload.decode())
                start = record.offset + 1
    return found


async def kill_while_writing(server: PostgresServer) -> None:
    one, other, reader = (PostgresLog(server.url) for _ in range(3))
    await one.ensure("package")
    written, failed, read_failed = [False], list[str](), list[str]()
    logs = {"a": one, "b": one, "c": other, "d": other}
    writers = [asyncio.create_task(write(log, name, lambda: not written[0], failed)) for name, log in logs.items()]
    expected: list[str] = []
    following = asyncio.create_task(
        follow(reader, lambda found: bool(expected) and len(found) >= len(expected), read_failed)
    )
    for kill in range(KILLS):
        await persevere(lambda start=(kill + 1) * 200: one.wait("package", start, DEADLINE_S), [])
        server.kill()
        await asyncio.to_thread(server.start)
    written[0] = True
    expected += [text for texts in await asyncio.gather(*writers) for text in texts]
    found = await following
    assert sorted(found) == sorted(expected), "lost or twice"
    for name in logs:
        assert [text for text in found if text.startswith(name)] == [text for text in expected if text.startswith(name)]
    assert failed, "no call failed during the kills"
    assert any("unknown" in failure for failure in failed)
    for log in (one, other, reader):
        await log.close()


def test_a_server_killed_during_appends_and_reads_loses_and_repeats_nothing() -> None:
    with postgres_server() as server:
        asyncio.run(asyncio.wait_for(kill_while_writing(server), DEADLINE_S))


async def cut_listeners(db: Connection) -> int:
    """End the listening connections only; returns how many."""
    rows = await db.fetch(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE query LIKE 'LISTEN%' AND datname = current_database()"
    )
    return len(rows)


def test_a_waiter_is_woken_although_its_listening_connection_was_cut(postgres_url: str, monkeypatch) -> None:
    monkeypatch.setattr(log_module, "RECHECK_S", 1000.0)  # so that only the new listening connection can wake it

    async def scenario() -> None:
        one, other = PostgresLog(postgres_url), PostgresLog(postgres_url)
        db = await Server.of(postgres_url).connect()
        await one.ensure("package")
        waiting = asyncio.create_task(one.wait("package", 1, DEADLINE_S))
        while not await cut_listeners(db):
            pass
        await other.append("package", [NewRecord(payload=b"x")])
        assert await waiting
        waiting = asyncio.create_task(one.wait("package", 2, DEADLINE_S))
        await other.append("package", [NewRecord(payload=b"y")])
        assert await waiting
        await asyncio.gather(one.close(), other.close(), db.close())

    asyncio.run(asyncio.wait_for(scenario(), DEADLINE_S))


def test_a_waiter_is_woken_although_no_notification_arrives(postgres_url: str, monkeypatch) -> None:
    monkeypatch.setattr(PostgresLog, "_listen", lambda self: None)

    async def scenario() -> None:
        one, other = PostgresLog(postgres_url), PostgresLog(postgres_url)
        await one.ensure("package")
        waiting = asyncio.create_task(one.wait("package", 1, DEADLINE_S))
        await other.append("package", [NewRecord(payload=b"x")])
        assert await waiting
        await asyncio.gather(one.close(), other.close())

    asyncio.run(asyncio.wait_for(scenario(), DEADLINE_S))


def test_a_log_reports_that_its_server_is_gone_and_continues_when_it_is_back() -> None:
    async def scenario(server: PostgresServer) -> None:
        log = PostgresLog(server.url)
        await log.ensure("package")
        server.stop()
        failures: list[str] = []
        reading = asyncio.create_task(persevere(lambda: log.read("package", 1), failures))
        while len(failures) < 3:  # noqa: ASYNC110 - a list cannot be waited for
            await asyncio.sleep(0)
        await asyncio.to_thread(server.start)
        assert await reading == []
        assert any("check that it runs" in failure for failure in failures)
        await log.close()

    with postgres_server() as server:
        asyncio.run(asyncio.wait_for(scenario(server), DEADLINE_S))
