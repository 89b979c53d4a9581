"""Leaders are killed and suspended, clocks jump, the log's server goes away: what they count is right all the same."""

import asyncio
import os
from pathlib import Path

import pytest

from callboard.testing.servers.kafka import local_kafka
from callboard.testing.servers.postgres import postgres_server
from tests.chaos.failover.storm import Server, Storm

LONG = "CALLBOARD_LONG" in os.environ
FAILOVERS = 100 if LONG else 2
SUSPENDED_S = (3.0, 4.0, 8.0, 30.0) if LONG else (4.0,)
"""Longer than the lease, which takes 2.5 s."""
AWAY_S = 4.0
SEED = 1


def run(storm: Storm, strikes: list[str], failovers: int) -> None:
    account = asyncio.run(storm.run(strikes, failovers))
    print(f"\n{account}")  # noqa: T201 - shown with -s
    account.check()


@pytest.mark.timeout(7200)
def test_the_leader_of_five_services_is_struck_on_sqlite(tmp_path: Path) -> None:
    storm = Storm(tmp_path, f"sqlite:///{tmp_path}/board.db", str(tmp_path / "counters.db"), SEED, SUSPENDED_S)
    run(storm, ["kill", "suspend", "clock", "suspend", "kill"], max(5, FAILOVERS))


@pytest.mark.postgres
@pytest.mark.timeout(7200)
def test_the_leader_of_five_services_is_struck_on_postgres(tmp_path: Path) -> None:
    with postgres_server() as server:
        storm = Storm(
            tmp_path, server.url, server.url, SEED, SUSPENDED_S, Server(server.kill, server.start, AWAY_S)
        )  # fmt: skip
        run(storm, ["kill", "suspend", "clock", "server_down"], FAILOVERS)


@pytest.mark.kafka
@pytest.mark.timeout(7200)
def test_the_leader_of_five_services_is_struck_on_kafka(tmp_path: Path) -> None:
    with local_kafka() as cluster:
        log = f"kafka://{cluster.bootstrap}/?request_timeout_ms=2000"
        server = Server(lambda: cluster.kill(1), cluster.start, AWAY_S)
        storm = Storm(tmp_path, log, str(tmp_path / "counters.db"), SEED, SUSPENDED_S, server)
        run(storm, ["kill", "suspend", "clock", "server_down"], FAILOVERS)
