"""Workers are killed and suspended, and the log's server goes away: all jobs end, and only those that were running are
run once more.
"""

import asyncio
import os
from pathlib import Path

import pytest

from callboard.testing.servers.kafka import local_kafka
from callboard.testing.servers.postgres import postgres_server
from tests.chaos.failover.storm import Server
from tests.chaos.jobs.storm import Storm

LONG = "CALLBOARD_LONG" in os.environ
WORKERS, JOBS, ROUNDS = (20, 50_000, 5) if LONG else (3, 2_000, 1)
STRIKES = ["kill_dispatcher", "kill_other", "suspend", "kill_dispatcher"]
PROFILE = "default" if LONG else "fast"
"""Twenty processes may have to wait for longer than the lease of the fast one until it is their turn."""
AWAY_S = 4.0
SEED = 1


def run(storm: Storm, strikes: list[str]) -> None:
    account = asyncio.run(storm.run(strikes * ROUNDS, JOBS))
    print(f"\n{account}; {sorted(storm.struck)} struck")  # noqa: T201 - shown with -s
    account.check(JOBS, storm.struck)


@pytest.mark.timeout(7200)
def test_workers_are_struck_on_sqlite(tmp_path: Path) -> None:
    run(Storm(tmp_path, f"sqlite:///{tmp_path}/board.db", SEED, WORKERS, PROFILE), STRIKES)


@pytest.mark.postgres
@pytest.mark.timeout(7200)
def test_workers_are_struck_on_postgres(tmp_path: Path) -> None:
    with postgres_server() as server:
        its = Server(server.kill, server.start, AWAY_S)
        run(Storm(tmp_path, server.url, SEED, WORKERS, PROFILE, its), [*STRIKES, "server_down"])


@pytest.mark.kafka
@pytest.mark.timeout(7200)
def test_workers_are_struck_on_kafka(tmp_path: Path) -> None:
    with local_kafka() as cluster:
        log = f"kafka://{cluster.bootstrap}/?request_timeout_ms=2000"
        server = Server(lambda: cluster.kill(1), cluster.start, AWAY_S)
        run(Storm(tmp_path, log, SEED, WORKERS, PROFILE, server), [*STRIKES, "server_down"])
