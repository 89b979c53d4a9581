"""Projections in PostgreSQL: complete or not at all, and once."""

import asyncio
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from callboard.backends.postgres.server import Server
from callboard.errors import LogReplaced
from callboard.pipeline.sinks.postgres_tables import PUBLISHED, Reach, publish


def a_run(folder: Path, number: int) -> Path:
    """The tables of a run, in each of which is its number."""
    for name in PUBLISHED:
        (folder / name).mkdir(parents=True, exist_ok=True)
        follows = pa.array([["blue"], []], pa.list_(pa.string()))
        table = pa.table({"run": [number, number], "follows": follows, "p50_s": [0.5, None]})
        pq.write_table(table, folder / name / "part.parquet")
    return folder


def found(url: str) -> dict[str, int]:
    """What is in the tables: the run, by table, and how far they reach."""

    async def work() -> dict[str, int]:
        server = Server.of(url)
        connection = await server.connect()
        schema = f"{server.schema}_projection"
        runs = {name: await connection.fetchval(f"SELECT max(run) FROM {schema}.{name}") for name in PUBLISHED}
        reach = await connection.fetchval(f"SELECT package FROM {schema}.reach")
        await connection.close()
        return {**runs, "reach": reach}

    return asyncio.run(work())


@pytest.fixture
def database(server, postgres_log):
    """A database; the schema of projections is dropped at the end."""
    yield postgres_log.url

    async def drop() -> None:
        server = Server.of(postgres_log.url)
        connection = await server.connect()
        await connection.execute("SET client_min_messages = warning")
        await connection.execute(f"DROP SCHEMA IF EXISTS {server.schema}_projection CASCADE")
        await connection.close()

    asyncio.run(drop())


def test_a_publication_killed_at_any_table_leaves_all_old_tables_and_is_done_once(database, tmp_path, dies_before):
    first, second = a_run(tmp_path / "1", 1), a_run(tmp_path / "2", 2)
    assert publish(database, first, Reach("log", 10))
    step = 1
    while dies_before(step, lambda on_step: publish(database, second, Reach("log", 20), on_step)):
        assert found(database) == dict.fromkeys(PUBLISHED, 1) | {"reach": 10}
        step += 1
    assert step == len(PUBLISHED) + 1
    assert not publish(database, second, Reach("log", 20)), "it was done twice"
    assert not publish(database, first, Reach("log", 10)), "an older run took the place of a newer one"
    assert found(database) == dict.fromkeys(PUBLISHED, 2) | {"reach": 20}
    assert publish(database, first, Reach("log", 20, status=1)), "statuses are news as well"


def test_tables_of_another_log_are_not_overwritten(database, tmp_path):
    publish(database, a_run(tmp_path, 1), Reach("log", 10))
    with pytest.raises(LogReplaced, match="another log"):
        publish(database, a_run(tmp_path, 2), Reach("other", 20))
    assert found(database)["queue"] == 1
