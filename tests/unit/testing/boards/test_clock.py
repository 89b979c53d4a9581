"""The clock of a board in memory drives all that waits for a time."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from callboard import CommandRefused
from callboard.actors import At, Event, Facts, Process, event
from callboard.testing.boards import MemoryBoard

DEADLINE_S = 60.0
HOUR_NS = 3600 * 10**9


@event("clock.brew", version=1)
class Brew(Event):
    pass


@event("clock.brewed", version=1)
class Brewed(Event):
    until_ns: int


@event("clock.ring", version=1)
class Ring(Event):
    pass


@event("clock.rang", version=1)
class Rang(Event):
    pass


@event("clock.tea", version=1)
class Tea(Process):
    until_ns: int = 0
    is_ready: bool = False

    def decide(self, command: Event, facts: Facts) -> Sequence[Event]:
        if isinstance(command, Brew):
            return [Brewed(until_ns=facts.now_ns + HOUR_NS)]
        if facts.now_ns < self.until_ns:
            raise CommandRefused("too early", code="early")
        return [Rang()]

    def evolve(self, event: Event) -> "Tea":
        return Tea(until_ns=event.until_ns) if isinstance(event, Brewed) else Tea(until_ns=self.until_ns, is_ready=True)

    def todo(self, key: str) -> Sequence[At]:
        return [] if self.is_ready or not self.until_ns else [At("ring", self.until_ns, Ring())]


def run(folder: Path, scenario: Callable[[MemoryBoard], Awaitable[None]]) -> None:
    async def within() -> None:
        async with asyncio.timeout(DEADLINE_S), MemoryBoard(folder) as test:
            await scenario(test)

    asyncio.run(within())


def test_the_deadline_of_a_process_comes_when_the_time_has_passed(tmp_path: Path) -> None:
    async def scenario(test: MemoryBoard) -> None:
        teas = test.board.entities(Tea)
        await teas.start()
        await teas.send("green", Brew())
        await test.clock.advance(minutes=59)
        assert not (await teas.get("green")).state.is_ready
        await test.clock.advance(minutes=2)
        assert (await teas.get("green")).state.is_ready

    run(tmp_path, scenario)


def test_subscribers_keep_their_names_while_hours_pass(tmp_path: Path) -> None:
    async def scenario(test: MemoryBoard) -> None:
        fleet = await test.fleet(2, ready_idle_s=600)
        [one, _] = fleet
        assert not one.subscriber.ready
        await test.clock.advance(hours=1)
        assert one.subscriber.ready
        await test.board.publisher("site").test()
        await fleet.deliver_all()
        assert {row.liveness for row in (await test.board.status()).subscribers} == {"live"}

    run(tmp_path, scenario)


def test_a_schedule_adds_its_jobs_while_a_worker_runs(tmp_path: Path) -> None:
    ran = asyncio.Queue[object]()

    async def scenario(test: MemoryBoard) -> None:
        async with test.board.jobs.worker({"tick": ran.put}):
            await test.board.jobs.schedule("ticks", "tick", "now", every_s=600)
            await test.clock.advance(minutes=25)
            assert [await ran.get() for _ in range(2)] == ["now", "now"]

    run(tmp_path, scenario)


def test_a_member_keeps_its_lease_and_its_lead(tmp_path: Path) -> None:
    async def scenario(test: MemoryBoard) -> None:
        async with test.board.member(instance="one") as member:
            await member.settled()
            await test.clock.advance(minutes=5)
            await member.settled()
            assert member.is_leader()

    run(tmp_path, scenario)


def test_time_passes_while_a_hook_waits_for_the_test(tmp_path: Path) -> None:
    async def scenario(test: MemoryBoard) -> None:
        (tmp_path / "site").mkdir()
        (tmp_path / "site" / "index.html").write_text("hello")
        called, may_end = asyncio.Event(), asyncio.Event()

        async def hook(_: object) -> None:
            called.set()
            await may_end.wait()

        fleet = await test.fleet(1, before_import=hook)
        await test.board.publisher("site").publish("site")
        await called.wait()
        began_s = time.monotonic()
        await test.clock.advance(minutes=2)
        assert time.monotonic() - began_s < DEADLINE_S / 2, "it waits for the hook once, not at every timer"
        may_end.set()
        await fleet.deliver_all()

    run(tmp_path, scenario)


def test_time_passes_on_a_board_without_agents(tmp_path: Path) -> None:
    async def scenario(test: MemoryBoard) -> None:
        before = test.clock.now
        await test.clock.advance(days=7)
        assert 604_800 <= (test.clock.now - before).total_seconds() < 604_800 + DEADLINE_S

    run(tmp_path, scenario)


def test_what_is_appended_has_the_time_of_the_clock(tmp_path: Path) -> None:
    async def scenario(test: MemoryBoard) -> None:
        await test.clock.advance(days=1)
        await test.board.publisher("site").test()
        [record] = await test.board.log.read(test.board.settings.topics.package, 1)
        assert record.time_ns > time.time_ns() + 23 * HOUR_NS

    run(tmp_path, scenario)
