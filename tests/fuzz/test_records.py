"""A short run of hostile records on the log of a running board; ``make fuzz`` appends 100,000."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callboard.testing.servers.postgres import own_schema, postgres_server

COUNT = 150
KEPT = [line.split() for line in (Path(__file__).parent / "found/records/numbers").read_text().splitlines()]
"""Seed, first number and count of records that once made an actor fail."""

signed = pytest.mark.parametrize("keys", [False, True], ids=["unsigned", "signed"])


@pytest.fixture
def append(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Any]:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.chdir(tmp_path)
    import asyncio

    import records

    def of(url: str, numbers: range, *, seed: int, keys: bool) -> Any:
        return asyncio.run(records.fuzz(numbers, url, tmp_path, seed=seed, keys=keys, say=lambda _: None))

    return of


@signed
def test_hostile_records_stop_no_agent(keys: bool, append: Callable[..., Any]) -> None:
    made = append("sqlite:///./board.db", range(COUNT), seed=0, keys=keys)

    assert made.made == COUNT
    assert made.goods == 2


@pytest.mark.postgres
@signed
def test_hostile_records_on_a_server_stop_no_agent(keys: bool, append: Callable[..., Any]) -> None:
    with postgres_server() as server, own_schema(server.url) as url:
        assert append(url, range(COUNT), seed=1, keys=keys).made == COUNT


@pytest.mark.parametrize(("seed", "first", "count"), KEPT)
@signed
def test_records_that_caused_past_failures_stop_no_agent(
    seed: str, first: str, count: str, keys: bool, append: Callable[..., Any]
) -> None:
    numbers = range(int(first), int(first) + int(count))

    assert append("sqlite:///./board.db", numbers, seed=int(seed), keys=keys).made


def test_a_record_can_be_reproduced_from_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    import hostile

    known = hostile.Known(names=("edge",), instances={"edge": "a" * 32}, end=7, now_ns=1)
    made = [[hostile.Forger(5, number, known).make() for number in range(200)] for _ in range(2)]

    assert [(one.kind, one.record.payload, one.record.headers.block, one.time_ns) for one in made[0]] == [
        (one.kind, one.record.payload, one.record.headers.block, one.time_ns) for one in made[1]
    ]
    assert {one.kind for one in made[0]} == set(hostile.KINDS)
    assert any(hostile.Forger(5, number, known).huge for number in range(2000))
