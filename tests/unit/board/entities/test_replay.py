"""The history of entities and rows, folded again from the log."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from callboard import Callboard, CommandRefused, Entities
from callboard.actors.entities.entity import Deleted
from callboard.actors.entities.processes.process import Ask, At
from callboard.actors.entities.projections.projection import Projection, Recorded
from callboard.backends.log import Retention
from callboard.board.entities.replay.replayed import Replayed, replayed_data
from callboard.errors import ConfigError, RequestRefused, SchemaTooNew, Undecodable
from callboard.messages.declared.declaration import event
from callboard.messages.declared.records import record_of
from callboard.messages.entities.entity_messages import DeclaredEvent, EntityCommitMessage
from callboard.messages.entities.sealing import sealed
from callboard.messages.event import Event
from callboard.messages.headers import new_record
from examples.bank import bank
from examples.bank.bank import Balance, Balances, Deposit, Transfer, TransferOrder
from examples.stock.stock import FillUp, Order, Place, Receive, Shelf, Stage
from tests.e2e.commands.test_commands import on_a_loop
from tests.unit.actors.entities.bank import Account, Close, Move, Moved

TOPIC = "callboard.entity.test_bank.account"


async def steps(
    board: Callboard, of: type[Any], key: str, *, found: list[Replayed] | None = None, **places: int
) -> list[Replayed]:
    """The steps; they are in ``found``, too, if there is an error."""
    found = [] if found is None else found
    async for step in board.replay(of, key, **places):
        found.append(step)
    return found


def commit(key: str, commit_id: int, events: Sequence[DeclaredEvent], **fields: Any) -> EntityCommitMessage:
    return EntityCommitMessage(key=key, commit_id=commit_id, command_id="x", events=tuple(events), **fields)


async def append(board: Callboard, message: Event, topic: str = TOPIC, time_ns: int = 1) -> int:
    await board.log.ensure(topic)
    record = new_record(message, record_id="x", time_ns=time_ns, producer="other")
    return (await board.log.append(topic, [record]))[0]


async def until_two(entities: Entities[Any], key: str) -> None:
    """Wait for the second commit."""
    async with asyncio.timeout(30):
        while (await entities.get(key)).version < 2:  # noqa: ASYNC110 - its own agent commits it
            await asyncio.sleep(0.01)


@asynccontextmanager
async def with_alice() -> AsyncIterator[Callboard]:
    """A board on which alice was moved, closed and moved again."""
    async with Callboard("memory:") as board:
        accounts = board.entities(Account)
        for command in (Move(cents=5), Move(cents=-2), Close(), Move(cents=7)):
            await accounts.send("alice", command, command_id=f"c{command!r}")
        await accounts.send("bob", Move(cents=1))
        yield board


@on_a_loop
async def test_each_commit_is_shown_with_the_state_after_it() -> None:
    async with with_alice() as board:
        found = await steps(board, Account, "alice")
        assert [(step.version, step.events, step.state) for step in found] == [
            (1, (Moved(cents=5),), Account(cents=5)), (2, (Moved(cents=-2),), Account(cents=3)),
            (3, (Deleted(),), None), (4, (Moved(cents=7),), Account(cents=7)),
        ]  # fmt: skip
        assert [step.command_id for step in found][:1] == ["cMove(cents=5)"]
        assert all(step.topic == TOPIC and step.key == "alice" and step.time_ns > 0 for step in found)
        last = await board.entities(Account).get("alice")
        assert (last.state, last.version) == (found[-1].state, found[-1].version)


@on_a_loop
async def test_it_ends_and_begins_where_it_is_asked_to() -> None:
    async with with_alice() as board:
        offsets = [step.offset for step in await steps(board, Account, "alice")]
        assert [step.offset for step in await steps(board, Account, "alice", to=offsets[1])] == offsets[:2]
        [second, third] = await steps(board, Account, "alice", start=offsets[1], to=offsets[2])
        assert (second.state, third.state) == (Account(cents=3), None)


@on_a_loop
async def test_commits_that_do_not_count_are_not_shown() -> None:
    async with with_alice() as board:
        for previous, version in ((0, 0), (77, 4), (0, 4)):
            await append(board, commit("alice", 9, [sealed(Moved(cents=99))], previous=previous, version=version))
        await board.log.append(TOPIC, [record_of(Moved(cents=3), record_id="r", time_ns=1, producer="p")])
        assert len(await steps(board, Account, "alice")) == 4


@on_a_loop
async def test_a_recorded_refusal_and_the_tasks_of_a_process_are_shown() -> None:
    async with Callboard("memory:") as board:
        transfers = board.entities(Transfer)
        await board.entities(bank.Account).send("alice", Deposit(cents=5))
        await transfers.send("t1", TransferOrder(source="alice", target="bob", cents=9))
        await until_two(transfers, "t1")
        ordered, failed = await steps(board, Transfer, "t1")
        [take] = ordered.tasks
        assert isinstance(take, Ask)
        assert (take.name, take.entity, take.key, failed.tasks) == ("take", bank.Account, "alice", ())
        refused = (await steps(board, bank.Account, "alice"))[-1]
        assert (refused.events, refused.refusal, refused.code) == ((), "alice has only 5 cents", "overdrawn")
        assert refused.state == bank.Account(cents=5, paid_in=5)


@on_a_loop
async def test_what_a_process_waits_for_is_shown() -> None:
    async with Callboard("memory:") as board:
        await board.entities(Shelf).send("tea", Receive(pieces=3))
        orders = board.entities(Order)
        await orders.send("o1", Place(sku="tea", pieces=2, pay_within_s=900))
        await until_two(orders, "o1")
        last = (await steps(board, Order, "o1"))[-1]
        [task] = last.tasks
        assert isinstance(task, At)
        data = replayed_data(last)
        assert data["state"]["fields"]["stage"] == Stage.RESERVED.name
        assert data["tasks"] == [
            {"name": "expire", "time_ns": task.time_ns, "command": {"name": "stock.expire", "fields": {}}}
        ]


@on_a_loop
async def test_a_row_is_shown_with_each_event_that_changed_it(tmp_path: Path) -> None:
    async with Callboard("memory:", base=tmp_path) as board:
        accounts = board.entities(bank.Account)
        await accounts.send("alice", Deposit(cents=5))
        await accounts.send("bob", Deposit(cents=1))
        done = await accounts.send("alice", Deposit(cents=2))
        for previous in (0, 88):
            message = commit("alice", 9, [sealed(bank.Moved(cents=99))], previous=previous)
            await append(board, message, "callboard.entity.bank.account")
        found = await steps(board, Balances, "alice")
        assert [(step.key, step.version, step.state) for step in found] == [
            ("alice", 1, Balance(cents=5, changes=1)), ("alice", 2, Balance(cents=7, changes=2)),
        ]  # fmt: skip
        assert found[-1].offset == done.offset
        assert [step.state for step in await steps(board, Balances, "alice", to=done.offset - 1)] == [found[0].state]
        balances = board.projection(Balances, into="sqlite:rows.db")
        await balances.reached(done.offset, bank.Account)
        assert await balances.get("alice") == found[-1].state


@event("test_replay.seen", version=1)
class Seen(Event):
    """An event on a topic of its own."""

    what: str


@event("test_replay.count", version=1)
class Count(Event):
    """A row."""

    accounts: int = 0
    seen: str = ""


class Counts(Projection[Count]):
    """What has happened, by the first letter; an event may be too much for it."""

    sources = (Account, "seen")

    def keys(self, recorded: Recorded) -> Sequence[str]:
        """See ``Projection``."""
        match recorded.event:
            case Seen(what=what):
                return [what[0], "all"]
        return ["all"] if recorded.key != "carol" else []

    def evolve(self, key: str, row: Count | None, recorded: Recorded) -> Count | None:
        """See ``Projection``."""
        its = row or Count()
        match recorded.event:
            case Seen(what="fail"):
                raise ValueError("it is too much")
            case Seen(what="remove"):
                return None
            case Seen(what=what):
                return Count(accounts=its.accounts, seen=its.seen + what)
            case Moved(cents=0):
                return row
        return Count(accounts=its.accounts + 1, seen=its.seen)


async def tell(board: Callboard, what: str) -> int:
    await board.log.ensure("seen")
    record = record_of(Seen(what=what), record_id=what, time_ns=board.context.now_ns(), producer="p")
    return (await board.log.append("seen", [record]))[0]


@on_a_loop
async def test_events_of_several_topics_come_by_their_times() -> None:
    async with Callboard("memory:") as board:
        accounts = board.entities(Account)
        await accounts.send("alice", Move(cents=1))
        await tell(board, "a")
        await accounts.send("carol", Move(cents=1))
        await tell(board, "remove")
        await accounts.send("bob", Move(cents=1))
        await tell(board, "b")
        found = await steps(board, Counts, "all")
        assert [(step.topic, step.state) for step in found] == [
            (TOPIC, Count(accounts=1)), ("seen", Count(accounts=1, seen="a")), ("seen", None),
            (TOPIC, Count(accounts=1)), ("seen", Count(accounts=1, seen="b")),
        ]  # fmt: skip
        assert [step.state for step in await steps(board, Counts, "b")] == [Count(seen="b")]
        with pytest.raises(RequestRefused, match="Counts has 2 topics"):
            await steps(board, Counts, "all", to=3)
        with pytest.raises(RequestRefused, match=r"no row of Counts 'al' on this log, among 4; did you mean 'all'\?"):
            await steps(board, Counts, "al")


@on_a_loop
async def test_what_comes_before_an_event_that_a_projection_refuses_is_shown() -> None:
    async with Callboard("memory:") as board:
        await tell(board, "a")
        offset = await tell(board, "fail")
        await tell(board, "b")
        found = list[Replayed]()
        with pytest.raises(Undecodable, match=f"offset {offset} of seen cannot be folded: ValueError: it is too much"):
            await steps(board, Counts, "all", found=found)
        assert [step.state for step in found] == [Count(seen="a")]


@pytest.mark.parametrize(
    ("bad", "error", "match"),
    [
        (DeclaredEvent(name="test_bank.moved", version=9), SchemaTooNew, "has version 9, and this process knows 1"),
        (DeclaredEvent(name="no.such", version=1), Undecodable, "declares no event 'no.such'"),
        (DeclaredEvent(name="test_bank.moved", version=1, payload=b"\xff"), Undecodable, "1 bytes are not"),
        (DeclaredEvent(name="test_bank.close", version=1), Undecodable, "AssertionError"),
    ],
)
@on_a_loop
async def test_what_comes_before_an_event_that_cannot_be_read_is_shown(
    bad: DeclaredEvent, error: type[Exception], match: str
) -> None:
    async with Callboard("memory:") as board:
        await append(board, commit("alice", 1, [sealed(Moved(cents=5))]))
        await append(board, commit("alice", 2, [bad], previous=1, version=1))
        await append(board, commit("alice", 3, [sealed(Moved(cents=5))], previous=2, version=2))
        found = list[Replayed]()
        with pytest.raises(error, match=match):
            await steps(board, Account, "alice", found=found)
        assert [step.state for step in found] == [Account(cents=5)]


@on_a_loop
async def test_a_record_of_a_newer_callboard_may_be_of_the_entity() -> None:
    async with with_alice() as board:
        record = new_record(commit("bob", 5, []), record_id="x", time_ns=1, producer="other")
        newer = tuple((name, "9.0" if name == "version" else value) for name, value in record.headers)
        await board.log.append(TOPIC, [replace(record, headers=newer)])
        with pytest.raises(SchemaTooNew, match="schema version 9"):
            await steps(board, Account, "alice")


@on_a_loop
async def test_a_key_that_is_unknown_is_refused_with_one_that_may_be_meant() -> None:
    async with with_alice() as board:
        with pytest.raises(RequestRefused, match=r"no Account 'alise' on this log, among 2; did you mean 'alice'\?"):
            await steps(board, Account, "alise")
        with pytest.raises(RequestRefused, match=r"'bob' on this log up to offset 2, among 1; check the key"):
            await steps(board, Account, "bob", to=2)
        with pytest.raises(RequestRefused, match="no Shelf 'x' on this log, among 0"):
            await steps(board, Shelf, "x")
        with pytest.raises(RequestRefused, match="no row of Balances 'x' on this log, among 0"):
            await steps(board, Balances, "x")


@pytest.mark.parametrize("of", [Account, Counts])
@on_a_loop
async def test_a_trimmed_topic_cannot_be_replayed(of: type[Any]) -> None:
    async with with_alice() as board:
        await board.log.trim(TOPIC, Retention(below_offset=2))
        with pytest.raises(RequestRefused, match=f"first records of {TOPIC} were removed, up to 1") as refused:
            await steps(board, of, "alice")
        assert refused.value.code == "gone"


@on_a_loop
async def test_a_topic_of_the_services_own_is_replayed_from_what_is_left() -> None:
    async with Callboard("memory:") as board:
        await tell(board, "a")
        offset = await tell(board, "b")
        await board.log.trim("seen", Retention(below_offset=offset))
        assert [step.state for step in await steps(board, Counts, "all")] == [Count(seen="b")]


@pytest.mark.parametrize("of", [FillUp, int, "bank", None, Moved])
@on_a_loop
async def test_only_classes_with_a_state_can_be_replayed(of: Any) -> None:
    async with Callboard("memory:") as board:
        with pytest.raises(ConfigError):
            await steps(board, of, "alice")


@pytest.mark.parametrize("given", [{"key": ""}, {"key": 5}, {"key": "a", "to": -1}, {"key": "a", "start": "x"}])
@on_a_loop
async def test_wrong_arguments_are_refused(given: dict[str, Any]) -> None:
    async with Callboard("memory:") as board:
        with pytest.raises(RequestRefused):
            await steps(board, Account, **given)


@on_a_loop
async def test_nothing_is_written() -> None:
    async with Callboard("memory:") as board:
        accounts = board.entities(Account)
        await accounts.send("alice", Move(cents=5))
        with pytest.raises(CommandRefused):
            await accounts.send("alice", Move(cents=-9))
        before = await board.log.bounds(TOPIC)
        await steps(board, Account, "alice")
        assert await board.log.bounds(TOPIC) == before
