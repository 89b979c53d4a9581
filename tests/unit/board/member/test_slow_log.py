"""A renewal that is late at the log, or whose acknowledgement is late, leads to no second leader."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from callboard.backends.log import Log
from callboard.backends.logs.passing_log import PassingLog
from callboard.messages.record import NewRecord
from tests.unit.board.member.clusters import BRIEF, DEADLINE_S, Cluster, eventually, run


class LateLog(PassingLog):
    """Appends at once until it is ``held``: then each append, or only its answer, waits for the release."""

    def __init__(self, log: Log, late: str) -> None:
        super().__init__(log)
        self._late, self.free = late, asyncio.Event()
        self.free.set()

    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        if self._late == "append":
            await self.free.wait()
        offsets = await super().append(topic, records)
        await self.free.wait()
        return offsets


@pytest.mark.proves("T50", "T55")
@pytest.mark.parametrize("late", ["append", "answer"])
def test_a_leader_whose_renewals_are_late_stops_before_the_next_one_begins(late: str, tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        logs = list[LateLog]()

        def slow(log: Log) -> Log:
            logs.append(LateLog(log, late))
            return logs[-1]

        first = await cluster.add("a", around=slow, **BRIEF)
        await first.settled()
        second = await cluster.add("b", **BRIEF)
        await cluster.agreed("ab")
        happened = list[str]()

        async def lead() -> None:
            try:
                async with first.leader_lease():
                    logs[0].free.clear()
                    await asyncio.Event().wait()
            finally:
                happened.append("a stopped")

        work = asyncio.create_task(lead())
        async with second.leader_lease(DEADLINE_S):
            happened.append("b leads")
            assert not first.is_leader()
            logs[0].free.set()
            await cluster.agreed("ba")
            assert not first.is_leader()
        assert happened == ["a stopped", "b leads"]
        await asyncio.gather(work, return_exceptions=True)
        await eventually(second.is_leader)

    run(scenario, tmp_path)


@pytest.mark.proves("T50")
def test_an_evicted_member_lets_the_others_settle_before_it_joins_again(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        evicted, again, happened = asyncio.Event(), asyncio.Event(), list[str]()

        class Watched(PassingLog):
            """Delays what b acknowledges after the eviction until a joins again, at most for a second."""

            async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
                types = [dict(record.headers)["type"] for record in records] if evicted.is_set() else []
                if "JoinMessage" in types:
                    happened.append("a joins")
                    again.set()
                if "AckMessage" in types and not happened:
                    with suppress(TimeoutError):
                        await asyncio.wait_for(again.wait(), 1)
                    happened.append("b has acknowledged")
                return await super().append(topic, records)

        first = await cluster.add("a", around=Watched)
        await first.settled()
        await cluster.add("b", around=Watched)
        await cluster.agreed("ab")
        evicted.set()
        assert (await cluster.boards["b"].topology.evict("a")).accepted
        await cluster.agreed("ba")
        assert happened == ["b has acknowledged", "a joins"]

    run(scenario, tmp_path)
