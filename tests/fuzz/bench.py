"""A running board that hostile records are appended to, and the checks that it still works.

The effects of well-formed records, where every writer to the log is trusted, are undone as an operator would: queues
are cleared, pauses are ended, names are taken back.
"""

import asyncio
import gc
import resource
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from fleet import COMMON, FLEET, KEY, Logged
from hostile import KINDS, Forger, Known, Made, packed

from callboard import Callboard, Publishing
from callboard.backends.log import Log, Retention
from callboard.backends.registry import open_log
from callboard.backends.repositories.sqlite.source import SqliteSource
from callboard.board.care.fleet_checkup import examine_fleet, examine_topics
from callboard.board.care.retention_gate import GatePolicy, RetentionGate
from callboard.board.subscriber import Subscriber
from callboard.board.views import CommandResult
from callboard.door.limits import SKIPPED_MAX
from callboard.errors import CallboardError, RequestRefused, SubscriberTaken
from callboard.messages.distribution.topic_messages import (
    ClearCommand,
    CommandMessage,
    DiscoveryMessage,
    PackageMessage,
    ResumeCommand,
    State,
    ThrottleCommand,
)
from callboard.messages.headers import new_record, open_record
from callboard.messages.record import Record

BATCH = 500
TOGETHER = 25
"""Records of one append."""
ANSWER_S = 120.0
"""Far beyond what a good question takes, so that only a defect meets it, however busy the machine is."""
ANSWER_CPU_S = 10.0
"""What all agents together may compute meanwhile; mostly it is the records before the question."""
STUCK_S = 240.0
"""The same for what is on the log and what an operator does about it."""
STRIKE_EVERY = 4
"""Batches after which actors are killed: what they begin with takes them longer with every batch."""
SELDOM = 20
"""Batches between two questions that read the whole log."""
IDLE_S = 0.5
IDLE_CPU = 0.6
"""Of the time in which nothing happens, on one processor: announcements and the looks of timers."""
BUSY_S = 60.0
"""A restarted actor reads the whole log once more, 100,000 records in 10 s; one that spins never finishes."""
RECORD_CPU_S = 0.1
"""For each record, by all agents together: ten times the usual."""
PATIENCE = 10
"""Looks between two restarts: one that is stopped before it has noted what it passed over would never get behind it."""
GOOD = b"good content %d\n"


class Broken(Exception):
    """An actor failed."""


@dataclass
class Bench:
    """A running board, and an attacker's own connection to its log."""

    board: Callboard
    rogue: Log
    logged: Logged
    keys: bool
    seed: int
    base: Path
    standby: Subscriber
    fleet: dict[str, Subscriber] = field(default_factory=dict)
    rogue_ns: int | None = None
    made: int = 0
    goods: int = 0
    memory_mb: list[float] = field(default_factory=list)
    slowest: Counter[str] = field(default_factory=Counter)
    came_of: Counter[str] = field(default_factory=Counter)
    known: Known = field(default_factory=Known)
    events: int = 0
    given: int = 0
    used_s: list[float] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)
    longest_step_s: float = 0.0

    # The fleet.

    async def start(self, name: str, **more: Any) -> None:
        """Start a subscriber."""
        subscriber = self.board.subscriber(name, FLEET[name]["into"], **_options(name), **more)
        await subscriber.start()
        self.fleet[name] = subscriber

    async def restart(self, name: str, heard: int) -> None:
        """Stop and start it, to pass over what is no command, behind the last one that it has heard."""
        skip = [offset for offset in self.refused if offset > heard][:SKIPPED_MAX]
        await self.fleet[name].stop()
        for _ in range(5):
            try:
                return await self.start(name, skip_commands=tuple(skip))
            except SubscriberTaken:
                await self._free(name)
        raise Broken(f"{name} cannot start again, for the name is always taken")

    async def _free(self, name: str) -> None:
        """Have an operator get the name back: who stood by and has it now is stopped, and all others are forgotten."""
        if self.keys:
            raise Broken(f"an instance without a key took the name {name}")
        self.came_of[f"{name} was taken"] += 1
        if name == self.standby.name:
            await self.standby.stop()
        await self.board.forget_subscriber(name, author="operator", force=True)

    async def until_started(self) -> None:
        for name in FLEET:
            await self.start(name)
        await self.standby.start()
        (self.base / "site").mkdir()
        for number, path in enumerate(("a.txt", "b", "large")):
            (self.base / "site" / path).write_bytes(b"%d" % number * (1, 10, 200_000)[number])
        site, shop = self.board.publisher("site"), self.board.publisher("shop")
        await site.publish("site", ["/a.txt", "/b"])
        await shop.publish("site", ["/large"])
        await site.delete(["/b"])
        await site.invalidate(["/a.txt"])
        await site.test()
        await self.good()

    # What a forger knows of the board.

    async def learn(self) -> None:
        """Look up what is true."""
        topics = self.board.settings.topics
        known = Known(names=(*FLEET, "ghost"), now_ns=time.time_ns())
        known.log_id = await self.board.log.identity(topics.package)
        known.end = (await self.board.log.bounds(topics.package)).end
        for name, subscriber in list(self.fleet.items()):
            said = await self._report(name)
            known.instances[name], known.places[name] = said.subscriber_instance, subscriber._settings.place
        known.seen = self.known.seen or {kind: await self._real(getattr(topics, kind)) for kind in KINDS}
        known.contents = self.known.contents or _contents(known.seen["package"])
        self.known = known

    async def _real(self, topic: str) -> list[Record]:
        return (await self.rogue.read(topic, (await self.rogue.bounds(topic)).first))[:40]

    # A batch.

    async def batch(self, numbers: range) -> None:
        """Append the records of these numbers, and check that the board survives them."""
        await self.standby.start()  # if it was stopped
        await self.learn()
        made = [Forger(self.seed, number, self.known).make() for number in numbers]
        if not self.keys and numbers.start // BATCH % 2:
            made = [one for one in made if one.kind != "command" or _is_command(one)]
        before_s, topics = time.process_time(), self.board.settings.topics
        asking = asyncio.create_task(self._ask_all())
        for start in range(0, len(made), TOGETHER):
            some = made[start : start + TOGETHER]
            for kind in KINDS:
                for time_ns in {one.time_ns for one in some if one.kind == kind}:
                    records = [one for one in some if one.kind == kind and one.time_ns == time_ns]
                    self.rogue_ns = time_ns
                    offsets = await self.rogue.append(getattr(topics, kind), [one.record for one in records])
                    self.refused += [at for at, one in zip(offsets, records, strict=True)
                                if kind == "command" and not _is_command(one)]  # fmt: skip
            await asyncio.sleep(0)
        self.made += len(made)
        await asking
        await self.settle()
        if numbers.start // BATCH % STRIKE_EVERY == 0:
            await self._strike(Random(f"{self.seed}/{numbers.start}"))
        await self.good()
        used_s = time.process_time() - before_s
        if used_s > RECORD_CPU_S * max(len(made), 100):
            raise Broken(f"{len(made)} records took {used_s:.1f} s of a processor")
        self.used_s.append(used_s)
        await self.quiet()
        self.check()

    async def _strike(self, rng: Random) -> None:
        """Kill an actor or two: their successors begin with what is on the log now."""
        for _ in range(2):
            agent = rng.choice(self.board.context.agents.started)
            if actors := agent.actors():
                await agent.kill(rng.choice(actors).role)

    def check(self) -> None:
        """No actor has crashed, and no agent has ended."""
        if self.logged.crashes:
            raise Broken(f"crashed: {self.logged.crashes[0]}".replace("\\n", "\n"))
        ended = [agent for agent in self.board.context.agents.started if agent.has_ended and not self._may_end(agent)]
        if ended:
            raise Broken(f"{[(agent._name, str(agent._problem)) for agent in ended]} have ended")

    def _may_end(self, agent: Any) -> bool:
        """Whether a forger took its name, which no signature prevents, or ``_free`` has stopped the standby."""
        stopped = agent is self.standby._latest and self.standby._agent is None
        return not self.keys and (stopped or isinstance(agent._problem, SubscriberTaken))

    async def quiet(self) -> None:
        """When nothing happens, no actor is busy. It checks again while there may be work left."""
        part, all_s = 1.0, 0.0
        while part >= IDLE_CPU:
            if all_s > BUSY_S:
                raise Broken(f"they use {part:.0%} of a processor although nothing happens")
            before_s, used_s = _run_s(), time.process_time()
            await asyncio.sleep(IDLE_S)
            could_s = _run_s() - before_s
            all_s, part = all_s + could_s, (time.process_time() - used_s) / max(could_s, 0.01)
        gc.collect()
        self.memory_mb.append(_resident_mb())

    # Questions.

    async def ask(self, name: str, question: Awaitable[Any]) -> Any:
        """A question, which is answered in time or refused with a reason."""
        began_s = time.perf_counter()
        used_s = time.process_time()
        try:
            async with asyncio.timeout(ANSWER_S):
                answer = await question
        except CallboardError as error:
            self.came_of[f"{name}: {type(error).__name__}: {error}"[:300]] += 1
            answer = error
        except TimeoutError:
            raise Broken(f"{name} is not answered") from None
        took_s, used_s = time.perf_counter() - began_s, time.process_time() - used_s
        if used_s > ANSWER_CPU_S:
            raise Broken(f"{name} took {took_s:.1f} s, and {used_s:.1f} s of a processor")
        self.slowest[name] = max(self.slowest[name], round(took_s * 1000))
        return answer

    async def _ask_all(self) -> None:
        board = self.board
        status = await self.ask("status", board.status(ANSWER_S))
        if isinstance(status, CallboardError):
            raise Broken(f"status: {status}")
        await self.ask("metrics", board.metrics(ANSWER_S))
        for name in FLEET:
            await self.ask("queue", board.queue(name, timeout_s=ANSWER_S))
        await self.ask("errors", board.errors(timeout_s=ANSWER_S))
        await self.ask("cohorts", board.cohorts(timeout_s=ANSWER_S))
        if len(self.used_s) % SELDOM == 0:  # they read all that there is
            for name in FLEET:
                await self.ask("explain", board.explain(name, "/a.txt"))
            await self.ask("collect", board.collect_blobs(delete=False))
            gate = RetentionGate(GatePolicy("subscribers"), board.settings.topics)
            await self.ask("trim", board.trim(Retention(older_than_s=86_400.0 * 30), gate))
        await self.ask("doctor topics", examine_topics(board.context, time.time_ns))
        await self.ask("doctor fleet", examine_fleet(board.context, Retention(older_than_s=86_400.0), {}))

    # An operator.

    async def settle(self) -> None:
        """Bring every subscriber to the end of the log, by what an operator can do."""
        end = (await self.board.log.bounds(self.board.settings.topics.package)).end
        for name in list(self.fleet):
            await self._bring(name, end - 1, end - 1)

    async def _bring(self, name: str, offset: int, clear: int) -> DiscoveryMessage:
        """Until this subscriber is past the offset. Up to the other one packages may be cleared."""
        board, deadline_s, looks, last = self.board, time.monotonic() + STUCK_S, 0, -2
        while (said := await self._report(name)).offset < offset or said.state is State.PAUSED or said.held:
            looks = 0 if said.offset > last else looks + 1
            last = max(last, said.offset)
            if time.monotonic() > deadline_s:
                raise Broken(f"{name} is at {said.offset} of {offset}: {said}"[:3000])
            self.check()
            self.came_of[f"{name} {said.state.name.lower()}"] += 1
            options = {"timeout_s": 0.5}
            if "of the command topic on wait" in said.reason:
                if looks % PATIENCE == PATIENCE - 1:  # it has had time to take note of what it passed over
                    await self.restart(name, said.command_offset)
            elif said.reason == "waits for its name" and not self.keys and looks % 50 == 25:
                await self._free(name)  # a forger spoke as this very instance, in another place
            elif said.state is State.PAUSED:
                answer = await self.ask("resume", board.resume(name, **options))
                await self._order(said, answer, resume=ResumeCommand())
            elif said.throttle_per_min:
                answer = await self.ask("throttle", board.throttle(name, 0, **options))
                await self._order(said, answer, throttle=ThrottleCommand())
            elif said.held or (looks > 25 and said.offset < clear and FLEET[name].get("editable")):
                answer = await self.ask("clear", board.clear(name, up_to=clear, **options))
                await self._order(said, answer, clear=ClearCommand(offset=clear))
            await asyncio.sleep(0.02)
        return said

    async def _report(self, name: str) -> DiscoveryMessage:
        try:
            return await self.fleet[name].report(ANSWER_S)
        except SubscriberTaken:
            await self.restart(name, -1)
            return await self.fleet[name].report(ANSWER_S)

    async def _order(self, said: DiscoveryMessage, answer: Any, **order: Any) -> None:
        """Give the order to the very subscriber, if it was not to be given through the board: what others forge of a
        subscriber is believed there.
        """
        if isinstance(answer, CommandResult) and answer.accepted:
            return
        self.came_of["commands given by hand"] += 1
        self.given += 1
        now_ns, topics = time.time_ns(), self.board.settings.topics
        command = CommandMessage(
            subscriber_instance=said.subscriber_instance, subscriber=said.subscriber, log_id=self.known.log_id,
            command_id=f"by hand {self.given}", author="operator", issued_ns=now_ns, position=said.offset, **order,
        )  # fmt: skip
        record = new_record(command, record_id=command.command_id, time_ns=now_ns, producer="operator")
        await self.board.log.append(topics.command, [record])

    async def good(self) -> None:
        """A good package reaches every subscriber."""
        self.goods += 1
        content = GOOD % self.goods
        (self.base / "site" / "good").write_bytes(content)
        answer = await self.ask("publish", self.board.publisher("site").publish("site", ["/good"], timeout_s=ANSWER_S))
        if isinstance(answer, CallboardError):
            raise Broken(f"publish: {answer}")
        for name in list(self.fleet):
            await self._bring(name, answer.offset, answer.offset - 1)
            if (found := await self._content(name)) == content:
                continue
            if name == "staged" and not self.keys:
                self.came_of["left out after a forged verdict"] += 1
                continue
            raise Broken(f"{name} has {found!r} at offset {answer.offset}, not {content!r}")

    async def _content(self, name: str) -> bytes:
        into = FLEET[name]["into"]
        if not into.startswith("sqlite:"):
            with suppress(FileNotFoundError):
                return (self.base / into / "good").read_bytes()
            return b""
        return await asyncio.to_thread(_sqlite_content, self.base / into.removeprefix("sqlite:"))


def _options(name: str) -> dict[str, Any]:
    own = {key: value for key, value in FLEET[name].items() if key != "into"}
    return COMMON | own


def _sqlite_content(file: Path) -> bytes:
    source = SqliteSource(file)
    with suppress(RequestRefused):
        (entry,) = source.entries("/good", deep=False)
        assert entry.open is not None
        return b"".join(entry.open())
    return b""


def _contents(packages: list[Record]) -> list[bytes]:
    return [open_record(record, PackageMessage).content for record in packages]


def _is_command(made: Made) -> bool:
    block = packed(made.record.headers)
    record = Record(offset=0, time_ns=0, payload=made.record.payload, header_block=block)
    try:
        open_record(record, CommandMessage)
    except CallboardError:
        return False
    return True


def _run_s() -> float:
    """A clock that stands still while this thread is ready and others have the processors."""
    return time.monotonic() - int(Path("/proc/self/schedstat").read_text().split()[1]) / 1e9


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


@asynccontextmanager
async def bench(url: str, folder: Path, *, seed: int, keys: bool, logged: Logged) -> AsyncIterator[Bench]:
    """A board on this log, with its fleet."""
    publishing = Publishing(
        throttle_by="all", throttle_at=1, throttle_max_s=0.05, events=("created", "queued", "distributed", "failed")
    )
    async with AsyncExitStack() as stack:
        board = await stack.enter_async_context(
            Callboard(url, base=folder, blobs="./blobs", publishing=publishing, blob_grace_s=7200.0,
                      signing_key=KEY if keys else None, trusted_keys=(KEY,) if keys else ())
        )  # fmt: skip
        rogue = open_log(url, folder)
        stack.push_async_callback(rogue.close)
        standby = board.subscriber("edge", "sqlite:standby.sqlite", standby=True, **_options("edge"))
        it = Bench(board, rogue, logged, keys, seed, folder, standby)
        rogue._clock = lambda: time.time_ns() if it.rogue_ns is None else it.rogue_ns  # type: ignore[attr-defined]
        await it.until_started()
        watching = asyncio.create_task(_watch(it))
        stack.callback(watching.cancel)
        stack.callback(asyncio.create_task(_feel(it)).cancel)
        yield it
        if watching.done():
            raise Broken(f"the events ended: {watching.exception()!r}")


async def _feel(it: Bench) -> None:
    """How long the event loop was kept busy by one step, by the processor."""
    while True:
        before_s = time.thread_time()
        await asyncio.sleep(0)
        it.longest_step_s = max(it.longest_step_s, time.thread_time() - before_s)
        await asyncio.sleep(0.02)


async def _watch(it: Bench) -> None:
    async for _ in it.board.events(after=-1):
        it.events += 1
