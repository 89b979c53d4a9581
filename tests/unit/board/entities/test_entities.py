"""Entities of a board: commands, states, several boards on one log, and everything that can be wrong."""

import asyncio
import shutil
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from callboard import Callboard
from callboard.actors.entities import roles
from callboard.actors.entities.entity import Entity, Facts
from callboard.backends.log import Retention
from callboard.errors import (
    CommandRefused,
    ConfigError,
    LogUnavailable,
    NotAnswered,
    RequestRefused,
    SchemaTooNew,
    Undecodable,
)
from callboard.messages.declared.declaration import event
from callboard.messages.entities.entity_messages import DeclaredEvent, EntityCommitMessage
from callboard.messages.event import Event, replaced
from callboard.messages.headers import new_record
from tests.e2e.commands.test_commands import on_a_loop
from tests.unit.actors.entities.bank import Account, Close, Move, Moved

TOPIC = "callboard.entity.test_bank.account"


@event("test_odd.do", version=1)
class Do(Event):
    """What the decision does wrong."""

    what: str


@event("test_odd.done", version=1)
class Done(Event):
    """An event that cannot be applied."""

    what: str


@event("test_odd.odd", version=1)
class Odd(Entity):
    """A class with bugs."""

    count: int = 0

    def decide(self, command: Event, facts: Facts) -> Sequence[Event]:
        """See ``Entity``."""
        assert isinstance(command, Do)
        match command.what:
            case "raise":
                raise KeyError("what")
            case "exit":
                raise SystemExit(3)
            case "no reason":
                raise CommandRefused
            case "nonsense":
                return "no events"  # type: ignore[return-value]
            case "not declared":
                return (Event(),)
            case "too many":
                return (Done(what="fine"),) * 1001
            case "too large":
                return (Done(what="x" * 1_000_000),)
        return (Done(what=command.what),)

    def evolve(self, event: Event) -> "Odd":
        """See ``Entity``."""
        assert isinstance(event, Done)
        if event.what == "refuse":
            raise ValueError("no")
        if event.what == "leave":
            raise SystemExit(3)
        if event.what == "not a number":
            return Odd(count=2**70)
        if event.what == "other":
            return Account()  # type: ignore[return-value]
        return replaced(self, count=self.count + 1)


def commit(payload: DeclaredEvent, key: str = "a", **others: Any) -> Any:
    told = EntityCommitMessage(key=key, commit_id=7, command_id="x", events=(payload,), **others)
    return new_record(told, record_id="x", time_ns=1, producer="other")


@pytest.mark.proves("A2")
@on_a_loop
async def test_a_command_is_carried_out_and_its_events_are_on_the_log() -> None:
    async with Callboard("memory:") as board:
        accounts = board.entities(Account)
        first = await accounts.send("alice", Move(cents=5))
        second = await accounts.send("alice", Move(cents=-2))
        assert (first.version, second.version, second.events) == (1, 2, (Moved(cents=-2),))
        assert second.offset > first.offset
        found = await accounts.get("alice", after=second.offset)
        assert (found.state, found.version) == (Account(cents=3), 2)


@pytest.mark.proves("A6")
@on_a_loop
async def test_a_refused_command_changes_nothing_and_tells_the_code_of_the_entity() -> None:
    async with Callboard("memory:") as board:
        accounts = board.entities(Account)
        with pytest.raises(CommandRefused, match="alice has only 0") as refused:
            await accounts.send("alice", Move(cents=-1))
        assert refused.value.code == "overdrawn"
        assert (await accounts.get("alice")).state is None


@on_a_loop
async def test_a_command_that_is_refused_without_a_reason_is_refused() -> None:
    async with Callboard("memory:") as board:
        with pytest.raises(CommandRefused, match="gave no reason"):
            await board.entities(Odd).send("a", Do(what="no reason"))


@on_a_loop
async def test_a_state_behind_the_end_of_the_log_is_not_known() -> None:
    async with Callboard("memory:") as board:
        with pytest.raises(NotAnswered, match=r"was not read up to offset 50 within 0\.01 s"):
            await board.entities(Account).get("a", after=50, timeout_s=0.01)


@on_a_loop
async def test_a_command_without_events_is_not_recorded() -> None:
    async with Callboard("memory:") as board:
        done = await board.entities(Account).send("alice", Move(cents=0))
        assert (done.version, done.offset, done.events) == (0, -1, ())


@pytest.mark.proves("A8")
@on_a_loop
async def test_a_deleted_entity_is_gone_and_a_command_creates_a_new_one() -> None:
    async with Callboard("memory:") as board:
        accounts = board.entities(Account)
        await accounts.send("alice", Move(cents=5))
        await accounts.send("alice", Close())
        assert (await accounts.get("alice")).state is None
        with pytest.raises(CommandRefused, match="there is no alice"):
            await accounts.send("alice", Close())
        again = await accounts.send("alice", Move(cents=7))
        found = await accounts.get("alice", after=again.offset)
        assert (found.state, found.version) == (Account(cents=7), 3)


@pytest.mark.proves("A5")
@on_a_loop
async def test_a_repeated_command_counts_once_also_at_once_and_after_a_restart(tmp_path: Path) -> None:
    for _ in range(2):
        async with Callboard("sqlite:///./log", base=tmp_path) as board:
            accounts = board.entities(Account)
            done = await asyncio.gather(*(accounts.send("a", Move(cents=5), command_id="one") for _ in range(3)))
            assert {each.version for each in done} == {1}
            assert len({each.offset for each in done}) == 1
            found = await accounts.get("a", after=done[0].offset)
            assert found.state == Account(cents=5)


@pytest.mark.proves("A3")
@on_a_loop
async def test_two_boards_that_decide_at_once_lose_no_command(tmp_path: Path) -> None:
    async with (
        Callboard("sqlite:///./log", base=tmp_path) as one,
        Callboard("sqlite:///./log", base=tmp_path) as other,
    ):
        both = [one.entities(Account), other.entities(Account)]
        done = await asyncio.gather(*(both[turn % 2].send("a", Move(cents=1)) for turn in range(200)))
        assert sorted(each.version for each in done) == list(range(1, 201))
        last = max(each.offset for each in done)
        for accounts in both:
            assert (await accounts.get("a", after=last)).state == Account(cents=200)


@pytest.mark.proves("A12", "A28")
@pytest.mark.parametrize("runtime", ["embedded", "processes"])
@on_a_loop
async def test_commands_survive_kills_of_their_keeper(tmp_path: Path, runtime: Any) -> None:
    async with Callboard("sqlite:///./log", base=tmp_path, runtime=runtime) as board:
        accounts = board.entities(Account)
        agent = await accounts.start()
        sent = [asyncio.create_task(accounts.send(f"k{each % 5}", Move(cents=1))) for each in range(100)]
        for _ in range(2):
            await agent.kill(roles.KEEPER)
            done, _ = await asyncio.wait(sent, return_when=asyncio.FIRST_COMPLETED)
        done = await asyncio.gather(*sent)
        last = max(each.offset for each in done)
        states = [(await accounts.get(f"k{each}", after=last)).state for each in range(5)]
        assert states == [Account(cents=20)] * 5


@pytest.mark.proves("A9")
@pytest.mark.parametrize(
    ("what", "code", "message"),
    [
        ("raise", "crashed", "Odd.decide failed: KeyError: 'what'"),
        ("nonsense", "crashed", "it returned 'no events'; return a tuple of events"),
        ("not declared", "crashed", "Event is not declared"),
        ("too many", "crashed", "it returned 1001 events, and the limit is 1000"),
        ("too large", "too_large", "its events have 10000.. bytes, and the limit is 900000"),
        ("refuse", "crashed", "cannot be applied: ValueError: no"),
        ("exit", "crashed", "Odd.decide failed: SystemExit: 3"),
        ("leave", "crashed", "cannot be applied: SystemExit: 3"),
        ("not a number", "crashed", "Odd.evolve returned a state that cannot be encoded: Value out of range"),
        ("other", "crashed", "evolve returned a Account, not a Odd"),
    ],
)
@on_a_loop
async def test_a_bug_of_the_decision_fails_its_command_and_nothing_else(what: str, code: str, message: str) -> None:
    async with Callboard("memory:") as board:
        odd = board.entities(Odd)
        wrong, right = await asyncio.gather(
            odd.send("a", Do(what=what)), odd.send("a", Do(what="fine")), return_exceptions=True
        )
        assert isinstance(wrong, RequestRefused)
        assert wrong.code == code
        with pytest.raises(RequestRefused, match=message):
            raise wrong
        assert not isinstance(right, BaseException)
        assert (await odd.get("a", after=right.offset)).state == Odd(count=1)


@pytest.mark.proves("A10")
@pytest.mark.parametrize(
    ("told", "error", "message"),
    [
        (DeclaredEvent(name="test_bank.moved", version=2), SchemaTooNew, "has version 2, and this process knows 1"),
        (DeclaredEvent(name="test_bank.unheard", version=1), Undecodable, "declares no event 'test_bank.unheard'"),
        (DeclaredEvent(name="test_bank.moved", version=1, payload=b"\xff"), Undecodable, "1 bytes are not a Moved"),
        (DeclaredEvent(name="test_bank.close", version=1), Undecodable, "cannot be applied: AssertionError"),
    ],
)
@on_a_loop
async def test_an_event_that_cannot_be_read_stops_its_entity_alone(
    told: DeclaredEvent, error: type[Exception], message: str
) -> None:
    async with Callboard("memory:") as board:
        await board.log.ensure(TOPIC)
        (offset,) = await board.log.append(TOPIC, [commit(told)])
        accounts = board.entities(Account)
        with pytest.raises(error, match=message):
            await accounts.get("a", after=offset)
        with pytest.raises(error, match=message):
            await accounts.send("a", Move(cents=1))
        assert (await accounts.send("b", Move(cents=1))).version == 1


@on_a_loop
async def test_a_commit_of_a_newer_schema_stops_all_entities() -> None:
    async with Callboard("memory:") as board:
        accounts = board.entities(Account)
        await accounts.send("a", Move(cents=1))
        newer = commit(DeclaredEvent(name="test_bank.moved", version=1))
        headers = tuple((name, "2.0" if name == "version" else value) for name, value in newer.headers)
        (offset,) = await board.log.append(TOPIC, [replaced(newer, headers=headers)])
        with pytest.raises(SchemaTooNew, match="has schema version 2"):
            await accounts.get("b", after=offset)


@pytest.mark.proves("A4")
@on_a_loop
async def test_records_that_are_no_commits_and_commits_of_former_states_do_not_count() -> None:
    async with Callboard("memory:") as board:
        accounts = board.entities(Account)
        await accounts.send("a", Move(cents=1))
        moved = DeclaredEvent(name="test_bank.moved", version=1, payload=b"\x08\x05")
        junk = replaced(commit(moved), payload=b"\xff")
        *_, last = await board.log.append(TOPIC, [junk, commit(moved), commit(moved, previous=3, version=1)])
        assert (await accounts.get("a", after=last)).state == Account(cents=1)


@pytest.mark.proves("A11")
@on_a_loop
async def test_a_topic_without_its_first_records_is_told_and_nothing_is_made_up() -> None:
    async with Callboard("memory:") as board:
        await board.entities(Account).send("a", Move(cents=1))
        last = await board.entities(Account).send("a", Move(cents=1))
        await board.log.trim(TOPIC, Retention(below_offset=last.offset))
        await (await board.entities(Account).start()).kill(roles.KEEPER)
        with pytest.raises(LogUnavailable, match=r"the first records of .* were removed"):
            await board.entities(Account).send("a", Move(cents=1))


@pytest.mark.proves("A11")
@on_a_loop
async def test_a_log_that_an_older_copy_replaced_is_read_again(tmp_path: Path) -> None:
    async with Callboard("sqlite:///./log", base=tmp_path) as board:
        kept = await board.entities(Account).send("a", Move(cents=1))
    shutil.copytree(tmp_path / "log", tmp_path / "copy")
    async with Callboard("sqlite:///./log", base=tmp_path) as board:
        await board.entities(Account).send("a", Move(cents=1))
    shutil.rmtree(tmp_path / "log")
    (tmp_path / "copy").rename(tmp_path / "log")
    async with Callboard("sqlite:///./log", base=tmp_path) as board:
        found = await board.entities(Account).get("a", after=kept.offset)
        assert found.state == Account(cents=1)


@on_a_loop
async def test_a_log_that_does_not_answer_is_told_with_the_id_to_repeat(tmp_path: Path) -> None:
    async with Callboard("sqlite:///./log", base=tmp_path) as board:
        accounts = board.entities(Account)
        await accounts.send("a", Move(cents=1))
        (file,) = (tmp_path / "log").glob(f"*{TOPIC}*.db")
        with sqlite3.connect(file, isolation_level=None) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(NotAnswered, match="repeat it with command_id='again'"):
                await accounts.send("a", Move(cents=1), command_id="again", timeout_s=0.2)
            other.execute("ROLLBACK")
        other.close()
        again = await accounts.send("a", Move(cents=1), command_id="again")
        assert again.version == 2


class Plain:
    """No entity."""


@event("test_odd.bare", version=1)
class Bare(Entity):
    """An entity without methods."""


@event("test_odd.needy", version=1)
class Needy(Account.__bases__[0]):  # type: ignore[misc]
    """An entity that cannot be new."""

    owner: str

    def decide(self, command: Event, facts: Facts) -> Sequence[Event]:
        """See ``Entity``."""
        return ()

    def evolve(self, event: Event) -> "Needy":
        """See ``Entity``."""
        return self


class Undeclared(Entity):
    """A class without @event."""


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (Plain, "no class of entities; write one as: class Account"),
        (Account(), "no class of entities"),
        ("account", "no class of entities"),
        (Undeclared, "not declared; write @event"),
        (Bare, r"has no decide\(\)"),
        (Needy, "give each field a default"),
    ],
)
@on_a_loop
async def test_a_class_that_is_none_of_entities_is_refused_at_once(wrong: Any, message: str) -> None:
    async with Callboard("memory:") as board:
        with pytest.raises(ConfigError, match=message):
            board.entities(wrong)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"key": ""}, "key is ''"),
        ({"key": 3}, "key is 3"),
        ({"key": "a\n"}, "key is"),
        ({"key": "x" * 201}, "key is"),
        ({"command": "deposit"}, "command is 'deposit', but should be a declared event"),
        ({"command": Event()}, "command is"),
        ({"command": Move(cents=2**63)}, "Move cannot be encoded"),
        ({"command": Move(cents="5")}, "Move cannot be encoded"),  # type: ignore[arg-type]
        ({"command_id": None}, "command_id is None"),
        ({"timeout_s": -1}, "timeout_s is -1"),
        ({"timeout_s": "5"}, "timeout_s is '5'"),
    ],
)
@on_a_loop
async def test_wrong_arguments_are_refused_at_the_door(given: dict[str, Any], message: str) -> None:
    async with Callboard("memory:") as board:
        with pytest.raises(RequestRefused, match=message):
            await board.entities(Account).send(**{"key": "a", "command": Move(cents=1), **given})


def test_a_board_that_is_not_open_says_so_at_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        board = Callboard("memory:", base=tmp_path)
        with pytest.raises(ConfigError, match="the board is not open; use it inside `async with"):
            await board.entities(Account).send("alice", Move(cents=1), timeout_s=5)

    asyncio.run(scenario())
