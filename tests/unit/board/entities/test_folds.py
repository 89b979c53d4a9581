"""How far folds are, by what they announce: ``board.folds``, doctor and metrics. Announcements are written by hand, so
that the clock is that of the test.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from callboard import Callboard
from callboard.backends.examination import Level
from callboard.backends.log import Retention
from callboard.backends.logs.memory import MemoryLog
from callboard.board.connect.agents import Agents
from callboard.board.connect.resources import Resources
from callboard.board.connect.settings import BoardSettings
from callboard.board.context import BoardContext
from callboard.board.entities.health.announcements import FOLDS_MAX, GONE_S, LOOK_BACK
from callboard.board.entities.health.checkup import FINDINGS_MAX, examine_folds
from callboard.board.entities.health.fold_report import FoldReport
from callboard.board.entities.health.metrics import fold_metrics
from callboard.messages.entities.entity_messages import FoldAnnouncementMessage, FoldPlace
from callboard.messages.event import Event
from callboard.messages.headers import new_record
from callboard.sync import Callboard as BlockingCallboard
from examples.bank.bank import Account, Balances, Deposit, Transfer, TransferOrder
from tests.e2e.commands.test_commands import on_a_loop

TOPIC = "callboard.entity.bank.account"
SECOND_NS = 10**9


class Stage:
    """A board in memory, and its clock."""

    def __init__(self) -> None:
        self.now_ns = 1_700_000_000 * SECOND_NS
        log = MemoryLog(clock=lambda: self.now_ns)
        resources = Resources(BoardSettings("memory:", "", Path.cwd()), lambda _: log)
        self.board = Callboard.on(BoardContext(resources, Agents(resources), lambda: self.now_ns))

    def wait(self, seconds: float) -> None:
        self.now_ns += round(seconds * SECOND_NS)

    async def append(self, *events: Event) -> None:
        records = [new_record(each, record_id="r", time_ns=self.now_ns, producer="web1") for each in events]
        await self.board.log.append(self.board.context.topics.discovery, records)

    async def say(self, name: str = "bank.account", incarnation: str = "i", **fields: Any) -> None:
        known = {"kind": "entities", "instance": "web1", "state": "live", "interval_s": 15} | fields
        await self.append(FoldAnnouncementMessage(name=name, incarnation=incarnation, **known))

    async def states(self) -> list[tuple[str, str]]:
        return [(row.incarnation, row.state) for row in await self.board.folds()]

    async def found(self) -> list[str]:
        return [f"{each.level}: {each.what}" for each in await examine_folds(self.board.context)]


@asynccontextmanager
async def staged() -> AsyncIterator[Stage]:
    stage = Stage()
    async with stage.board:
        yield stage


@on_a_loop
async def test_without_folds_there_is_nothing_to_tell() -> None:
    async with Callboard("memory:") as board:
        assert await board.folds() == ()
        assert await examine_folds(board.context) == []
        assert await fold_metrics(board.context) == []


@pytest.mark.proves("A29")
@on_a_loop
async def test_what_runs_is_shown_with_how_far_it_is(tmp_path: Path) -> None:
    async with Callboard("memory:", base=tmp_path) as board:
        accounts, transfers = board.entities(Account), board.entities(Transfer)
        balances = board.projection(Balances, into="sqlite:rows.db")
        await balances.start()
        await accounts.send("alice", Deposit(cents=5))
        done = await accounts.send("bob", Deposit(cents=5))
        await transfers.send("t1", TransferOrder(source="alice", target="bob", cents=1))
        await balances.reached(done.offset, Account)
        async with asyncio.timeout(30):
            while [row.state for row in await board.folds()] != ["live"] * 3:  # noqa: ASYNC110 - until told
                await asyncio.sleep(0.05)
        rows = await board.folds()
        assert [(row.kind, row.name) for row in rows] == [
            ("entities", "bank.account"), ("process", "bank.transfer"), ("projection", "bank.balance"),
        ]  # fmt: skip
        assert {row.instance for row in rows} == {board.context.instance}
        assert list(rows[0].behind) == [TOPIC]
        assert [each.level for each in await examine_folds(board.context)] == [Level.OK]


@on_a_loop
async def test_one_that_stops_in_order_is_not_shown_any_more(tmp_path: Path) -> None:
    log = f"sqlite:///{tmp_path}/board.db"
    async with Callboard(log) as board:
        await board.entities(Account).send("alice", Deposit(cents=5))
    async with Callboard(log) as board:
        assert await board.folds() == ()


@on_a_loop
async def test_one_that_has_missed_three_announcements_is_silent_until_another_one_is_started_there() -> None:
    async with staged() as stage:
        await stage.say(incarnation="one")
        await stage.say(incarnation="two")
        await stage.say(incarnation="one")
        stage.wait(40)
        await stage.say(incarnation="two")
        assert await stage.states() == [("one", "live"), ("two", "live")]
        stage.wait(10)
        assert await stage.states() == [("one", "silent"), ("two", "live")]
        await stage.say(incarnation="three", instance="web2")
        assert ("one", "silent") in await stage.states()
        await stage.say(incarnation="four")
        assert await stage.states() == [("four", "live"), ("two", "live"), ("three", "live")]


@on_a_loop
async def test_one_that_is_silent_for_a_day_is_not_shown_any_more() -> None:
    async with staged() as stage:
        await stage.say()
        stage.wait(GONE_S - 1)
        assert await stage.states() == [("i", "silent")]
        stage.wait(2)
        assert await stage.states() == []


@on_a_loop
async def test_how_far_it_is_behind_is_counted_on_the_topics_as_they_are_now() -> None:
    async with staged() as stage:
        board = stage.board
        accounts = board.entities(Account)
        for _ in range(5):
            await accounts.send("alice", Deposit(cents=5))
        log_id = await board.log.identity(TOPIC)
        first, end = await board.log.bounds(TOPIC)
        places = {
            "a": FoldPlace(topic=TOPIC, log_id=log_id, next=end - 2), "b": FoldPlace(topic=TOPIC, log_id="old", next=9),
            "c": FoldPlace(topic=TOPIC, log_id=log_id, next=2**62), "d": FoldPlace(topic=TOPIC, log_id=log_id, next=-5),
            "e": FoldPlace(topic="no.such", log_id="x", next=7),
        }  # fmt: skip
        for name, place in places.items():
            await stage.say(name, name, places=(place,))
        odd = tuple(FoldPlace(topic=topic, next=1) for topic in ("../../etc/passwd", "", "\u202e", "x" * 900))
        await stage.say("f", "f", places=odd)
        behind = {row.name: dict(row.behind) for row in await board.folds() if row.instance == "web1"}
        whole = end - first
        assert behind == {
            "a": {TOPIC: 2}, "b": {TOPIC: whole}, "c": {TOPIC: 0}, "d": {TOPIC: whole}, "e": {"no.such": 0}, "f": {},
        }  # fmt: skip


@on_a_loop
async def test_only_the_newest_part_of_the_topic_is_read_and_then_what_is_new() -> None:
    async with staged() as stage:
        await stage.say(incarnation="old")
        said = FoldAnnouncementMessage(kind="entities", name="x", incarnation="many", state="live", interval_s=15)
        for _ in range(0, LOOK_BACK, 2000):
            await stage.append(*[said] * 2000)
        assert await stage.states() == [("many", "live")]
        await stage.say(incarnation="new")
        assert await stage.states() == [("new", "live"), ("many", "live")]


@on_a_loop
async def test_any_number_of_false_folds_is_bounded() -> None:
    async with staged() as stage:
        many = [
            FoldAnnouncementMessage(
                kind="entities", name=f"n{each}", incarnation=f"i{each}", state="stopped", problem="x" * 9000,
                places=(FoldPlace(topic=f"t{each}"),), interval_s=2**62, held=-5, unreadable=2**62,
            )
            for each in range(FOLDS_MAX + 100)
        ]  # fmt: skip
        for start in range(0, len(many), 100):
            await stage.append(*many[start : start + 100])
        rows = await stage.board.folds()
        assert len(rows) == FOLDS_MAX
        assert max(len(row.problem) for row in rows) <= 2000
        assert {row.held for row in rows} == {0}
        assert len(await examine_folds(stage.board.context)) == FINDINGS_MAX + 2
        stage.wait(901)
        assert {row.state for row in await stage.board.folds()} == {"silent"}, "long intervals are not believed"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"state": "stopped", "problem": "no\x1b[2J"}, [f"{Level.PROBLEM}: reaction r on web1 is stopped: no\x1b[2J"]),
        ({"refused": 3}, [f"{Level.ADVICE}: reaction r on web1: commands refused since it started: 3"]),
        (
            {"unreadable": 2, "troubles": ("alice: odd", "bob: odd", "t1: take: not answered")},
            [
                f"{Level.PROBLEM}: reaction r on web1: the state of 2 is not known, such as alice: odd",
                f"{Level.PROBLEM}: reaction r on web1: tasks that are delayed: 1, such as t1: take: not answered",
            ],
        ),
        (
            {"unreadable": 25, "troubles": ("alice: odd",) * 20},
            [f"{Level.PROBLEM}: reaction r on web1: the state of 25 is not known, such as alice: odd"],
        ),
        ({}, []),
    ],
)
@on_a_loop
async def test_doctor_says_what_is_wrong(fields: dict[str, Any], expected: Sequence[str]) -> None:
    async with staged() as stage:
        await stage.say("r", **({"kind": "reaction"} | fields))
        assert (await stage.found())[:-1] == expected


@on_a_loop
async def test_doctor_says_who_has_not_read_what_is_old() -> None:
    async with staged() as stage:
        log, package = stage.board.log, stage.board.context.topics.package
        record = new_record(FoldPlace(topic="x"), record_id="r", time_ns=1, producer="p")
        place = FoldPlace(topic=package, log_id=await log.identity(package), next=(await log.bounds(package)).end)
        await log.append(package, [record] * 3)
        stage.wait(59)
        await stage.say(places=(place,))
        stage.wait(14)
        await log.append(package, [record] * 40_000)
        assert await stage.found() == [f"{Level.OK}: folds that run: 1"], "it may have read all that since"
        await stage.say(places=(place,))
        what = "entities bank.account on web1 is 40003 offsets behind, and has not read what was 73 s old"
        assert await stage.found() == [f"{Level.ADVICE}: {what}", f"{Level.OK}: folds that run: 1"]
        await log.trim(package, Retention(below_offset=place.next + 2))
        assert (await stage.found())[0] == f"{Level.ADVICE}: {what.replace('40003', '40001')}"
        await stage.say(places=(place,), state="stopped", problem="no")
        assert (await stage.found())[0].endswith("is stopped: no")


@on_a_loop
async def test_doctor_tells_whether_others_do_the_work_of_a_silent_one() -> None:
    async with staged() as stage:
        await stage.say()
        stage.wait(50)
        [silent, _] = await stage.found()
        what = "entities bank.account on web1: not heard of for 50 s"
        assert silent == f"{Level.PROBLEM}: {what}, and no other process does its work"
        await stage.say(incarnation="other", instance="web2")
        [silent, *_] = await stage.found()
        assert silent == f"{Level.ADVICE}: {what}; others go on"


@on_a_loop
async def test_metrics_have_one_sample_for_a_name_on_a_host_and_no_keys_of_entities() -> None:
    async with staged() as stage:
        await stage.say(incarnation="one", held=3, unreadable=1, troubles=("secret-key: odd",))
        await stage.say(incarnation="two", held=5, state="stopped")
        await stage.say("p", "three", kind="process", active=4, held=1)
        await stage.say('r"\u202e', "four", kind="reaction", refused=7, instance="web2")
        text = await stage.board.metrics()
        assert "secret-key" not in text
        lines = [line for line in text.splitlines() if "web" in line]
        account, process, reaction = (
            '{instance="web1",kind="entities",name="bank.account"}', '{instance="web1",kind="process",name="p"}',
            '{instance="web2",kind="reaction",name="r\\"\\\\u202e"}',
        )  # fmt: skip
        assert lines == [
            f"callboard_fold_behind{account} 0.0", f"callboard_fold_behind{process} 0.0",
            f"callboard_fold_behind{reaction} 0.0", f"callboard_fold_stopped{account} 1.0",
            f"callboard_fold_stopped{process} 0.0", f"callboard_fold_stopped{reaction} 0.0",
            f"callboard_entities_held{account} 5.0", f"callboard_entities_held{process} 1.0",
            f"callboard_entities_unreadable{account} 1.0", f"callboard_entities_unreadable{process} 0.0",
            f"callboard_processes_active{process} 4.0", f"callboard_reaction_refused{reaction} 7.0",
        ]  # fmt: skip


def test_code_without_an_event_loop_can_look() -> None:
    with BlockingCallboard("memory:") as board:
        accounts = board.entities(Account)
        accounts.send("alice", Deposit(cents=5))
        [row] = board.folds()
        assert isinstance(row, FoldReport)
        assert (row.kind, row.name) == ("entities", "bank.account")
        [step] = board.replay(Account, "alice")
        assert step.state == Account(cents=5, paid_in=5)
