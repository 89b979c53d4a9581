"""The holder of a name is found from how its announcements say that it was got, not from the clocks of hosts."""

import asyncio
from pathlib import Path

import pytest

from callboard.backends.logs.sqlite import SqliteLog
from callboard.messages.distribution.topic_messages import DiscoveryMessage, State, SubscriberConfiguration
from callboard.messages.headers import new_record
from callboard.pipeline.run import Run
from callboard.pipeline.tables.standings import holders

NOON_S = 1_700_000_000
DAY_S = 86_400


def word(instance: str, *, takes_over: int = -1, term: int = -1) -> DiscoveryMessage:
    return DiscoveryMessage(
        subscriber="edge", subscriber_instance=instance, state=State.IDLE, lease_ms=15_000, takes_over=takes_over,
        term=term, configuration=SubscriberConfiguration(editable=False, max_retries=0),
    )  # fmt: skip


@pytest.mark.parametrize("step_s", [-3600, 0, DAY_S])
def test_a_successor_has_the_name_with_any_clocks_of_the_two_hosts(spark, tmp_path: Path, step_s: int) -> None:
    words = [
        (0, word("a")),
        (10, word("a", term=1)),
        (25 + step_s, word("b", takes_over=2)),
        (26 + step_s, word("b", term=3)),
        (27, word("a", term=1)),
        (36 + step_s, word("b", term=3)),
    ]

    async def write() -> None:
        times = iter([(NOON_S + at_s) * 10**9 for at_s, _ in words])
        log = SqliteLog(tmp_path / "board.db", lambda: next(times))
        for topic in ("package", "status", "discovery"):
            await log.ensure(f"callboard.{topic}")
        for at_s, said in words:
            record = new_record(said, record_id=f"{at_s}", time_ns=1, producer="t/1")
            await log.append("callboard.discovery", [record])
        await log.close()

    asyncio.run(write())
    config = tmp_path / "callboard.toml"
    config.write_text(f'log = "sqlite:///{tmp_path}/board.db"\n')
    with Run("test", spark, {"board": str(config)}, clock=lambda: 1).reading() as (topics, _):
        kept = topics.kept("discovery")
        seen = {end: [tuple(row) for row in holders(kept.where(f"offset < {end}")).collect()] for end in (3, 4, 7)}
    assert seen == {3: [("edge", "a", 2)], 4: [("edge", "b", 3)], 7: [("edge", "b", 6)]}
