"""Projections and reactions on a real board: exactly once, whatever happens to the log and the database."""

import asyncio
import shutil
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from callboard import Callboard, ConfigError, NotAnswered, RequestRefused
from callboard.actors import (
    Ask,
    Deleted,
    Event,
    Projection,
    Reaction,
    Recorded,
    event,
    record_of,
)
from callboard.backends.log import Retention
from callboard.messages.entities.entity_messages import DeclaredEvent, EntityCommitMessage
from callboard.messages.headers import new_record
from tests.unit.actors.entities.bank import Account, Close, Move, Moved

TOPIC, PLACE = "callboard.entity.test_bank.account", "sqlite:read.db"


@event("test_projections.balance", version=1)
class Balance(Event):
    """A row."""

    cents: int = 0
    moves: int = 0


class Balances(Projection[Balance]):
    """Balances of accounts; it fails at 13 cents."""

    sources = (Account,)
    fails_at = 13

    def evolve(self, key: str, row: Balance | None, recorded: Recorded) -> Balance | None:
        if isinstance(recorded.event, Deleted):
            return None
        assert isinstance(recorded.event, Moved)
        if recorded.event.cents == self.fails_at:
            raise ValueError("an unlucky number")
        row = row or Balance()
        return Balance(cents=row.cents + recorded.event.cents, moves=row.moves + 1)


class Mended(Balances):
    """The same, without the fault."""

    fails_at = 0


class Gift(Reaction):
    """One cent for everybody who moves 100."""

    name = "gift"
    sources = (Account,)

    def react(self, recorded: Recorded) -> list[Ask]:
        gives = isinstance(recorded.event, Moved) and recorded.event.cents == 100
        return [Ask("gift", Account, recorded.key, Move(cents=1))] if gives else []


Scenario = Callable[[Callboard], Awaitable[None]]


def on_board(folder: Path, scenario: Scenario) -> None:
    async def run() -> None:
        async with Callboard("sqlite:///./board", base=folder) as board:
            await scenario(board)

    asyncio.run(asyncio.wait_for(run(), 60))


def table(folder: Path) -> dict[str, tuple[int, int]]:
    """What any program can read."""
    with closing(sqlite3.connect(folder / "read.db")) as database:
        rows = database.execute("SELECT key, cents, moves FROM test_projections_balance").fetchall()
    return {key: (cents, moves) for key, cents, moves in rows}


async def moved(board: Callboard, *, of: type[Projection[Any]] = Balances, cents: int = 5, many: int = 10) -> None:
    """Move money, and wait until the table has it."""
    accounts = board.entities(Account)
    done = await asyncio.gather(*(accounts.send(f"account {number}", Move(cents=cents)) for number in range(many)))
    await board.projection(of, into=PLACE).reached(max(each.offset for each in done), of=Account)


@pytest.mark.proves("A22")
def test_a_table_has_what_was_committed_when_one_has_waited_for_it(tmp_path: Path) -> None:
    async def scenario(board: Callboard) -> None:
        await moved(board)
        assert table(tmp_path) == {f"account {number}": (5, 1) for number in range(10)}
        balances = board.projection(Balances, into=PLACE)
        assert (await balances.get("account 3"), await balances.get("nobody")) == (Balance(cents=5, moves=1), None)
        status = await balances.status()
        assert (status.state, status.behind, status.problem) == ("live", {TOPIC: 0}, "")
        closed = await board.entities(Account).send("account 3", Close())
        await balances.reached(closed.offset, of=Account)
        assert "account 3" not in table(tmp_path)

    on_board(tmp_path, scenario)
    on_board(tmp_path, moved)
    assert table(tmp_path)["account 4"] == (10, 2)
    assert table(tmp_path)["account 3"] == (5, 1)


@pytest.mark.proves("A23")
@pytest.mark.parametrize("how", ["set back", "removed", "rows removed"])
def test_a_database_that_was_harmed_is_caught_up_again(tmp_path: Path, how: str) -> None:
    on_board(tmp_path, moved)
    shutil.copy(tmp_path / "read.db", tmp_path / "yesterday.db")

    async def scenario(board: Callboard) -> None:
        await moved(board)
        if how == "set back":
            (tmp_path / "yesterday.db").replace(tmp_path / "read.db")
        elif how == "removed":
            (tmp_path / "read.db").unlink()
        else:
            with closing(sqlite3.connect(tmp_path / "read.db")) as database, database:
                ((number,),) = database.execute("SELECT id FROM callboard_folds").fetchall()
                database.execute(f"DROP TABLE callboard_fold_{number}_seen")
        await moved(board)

    on_board(tmp_path, scenario)
    assert table(tmp_path) == {f"account {number}": (15, 3) for number in range(10)}


@pytest.mark.proves("A24")
def test_an_event_that_cannot_be_folded_stops_it_there_until_the_code_is_mended(tmp_path: Path) -> None:
    async def stops(board: Callboard) -> None:
        await moved(board)
        accounts = board.entities(Account)
        poison = await accounts.send("account 1", Move(cents=13))
        after = await accounts.send("account 2", Move(cents=1))
        balances = board.projection(Balances, into=PLACE)
        with pytest.raises(RequestRefused, match="an unlucky number") as raised:
            await balances.reached(after.offset, of=Account)
        assert raised.value.code == "stopped"
        status = await balances.status()
        assert (status.state, status.read) == ("stopped", {TOPIC: poison.offset})
        assert f"offset {poison.offset}" in status.problem
        assert table(tmp_path)["account 2"] == (5, 1)

    on_board(tmp_path, stops)

    async def goes_on(board: Callboard) -> None:
        await moved(board, of=Mended, many=3)

    on_board(tmp_path, goes_on)
    assert [table(tmp_path)[f"account {number}"] for number in range(3)] == [(10, 2), (23, 3), (11, 3)]


async def of_unknown_name(board: Callboard) -> EntityCommitMessage:
    return EntityCommitMessage(
        key="odd", commit_id=5, command_id="c", events=(DeclaredEvent(name="bank.unheard_of", version=1),)
    )


async def too_new(board: Callboard) -> EntityCommitMessage:
    return EntityCommitMessage(
        key="odd", commit_id=5, command_id="c", events=(DeclaredEvent(name="test_bank.moved", version=9),)
    )


async def damaged(board: Callboard) -> EntityCommitMessage:
    event = DeclaredEvent(name="test_bank.moved", version=1, payload=b"\xff\xff")
    return EntityCommitMessage(key="odd", commit_id=5, command_id="c", events=(event,))


@pytest.mark.proves("A24")
@pytest.mark.parametrize("make", [of_unknown_name, too_new, damaged])
def test_an_event_that_cannot_be_read_stops_it_visibly(
    tmp_path: Path, make: Callable[[Callboard], Awaitable[EntityCommitMessage]]
) -> None:
    async def scenario(board: Callboard) -> None:
        await moved(board)
        record = new_record(await make(board), record_id="r", time_ns=1, producer="p")
        (offset,) = await board.log.append(TOPIC, [record])
        balances = board.projection(Balances, into=PLACE)
        with pytest.raises(RequestRefused, match=rf"the event at offset {offset} .* cannot be folded"):
            await balances.reached(offset, of=Account)
        assert len(table(tmp_path)) == 10

    on_board(tmp_path, scenario)


@pytest.mark.proves("A4")
def test_commits_that_do_not_count_are_not_projected(tmp_path: Path) -> None:
    async def scenario(board: Callboard) -> None:
        await moved(board)
        records = (await board.log.read(TOPIC, 1))[:5]
        again = [new_record_of(each) for each in records]
        offsets = await board.log.append(TOPIC, again)
        await board.projection(Balances, into=PLACE).reached(max(offsets), of=Account)

    on_board(tmp_path, scenario)
    assert set(table(tmp_path).values()) == {(5, 1)}


def new_record_of(record: Any) -> Any:
    from callboard.messages.record import NewRecord

    return NewRecord(payload=record.payload, headers=record.headers)


@pytest.mark.proves("A25")
def test_of_two_services_one_makes_the_table_and_the_other_takes_over(tmp_path: Path) -> None:
    async def run() -> None:
        first, second = (Callboard("sqlite:///./board", base=tmp_path) for _ in range(2))
        async with first:
            async with second:
                await second.projection(Balances, into=PLACE).start()
                for _ in range(3):
                    await asyncio.gather(moved(first, many=5), moved(second, many=5))
                states = {(await each.projection(Balances, into=PLACE).status()).state for each in (first, second)}
                assert states <= {"live", "standby"}
            await moved(first, many=5)
        assert set(table(tmp_path).values()) == {(35, 7)}

    asyncio.run(asyncio.wait_for(run(), 60))


@pytest.mark.proves("A26")
def test_a_table_is_rebuilt_beside_the_one_that_is_shown(tmp_path: Path) -> None:
    async def scenario(board: Callboard) -> None:
        await moved(board)
        with closing(sqlite3.connect(tmp_path / "read.db")) as database, database:
            ((number,),) = database.execute("SELECT id FROM callboard_folds").fetchall()
            database.execute(f"UPDATE callboard_fold_{number}_rows SET cents = 999")
        await moved(board, many=3)
        assert table(tmp_path)["account 9"] == (999, 1)
        await board.projection(Balances, into=PLACE).rebuild()
        await moved(board, many=1)
        assert table(tmp_path)["account 9"] == (5, 1)

    on_board(tmp_path, scenario)


def test_a_log_that_was_replaced_leads_to_a_table_of_its_own(tmp_path: Path) -> None:
    on_board(tmp_path, moved)
    shutil.rmtree(tmp_path / "board")

    async def scenario(board: Callboard) -> None:
        await moved(board, many=2)

    on_board(tmp_path, scenario)
    assert table(tmp_path) == {"account 0": (5, 1), "account 1": (5, 1)}


def test_a_log_that_lost_what_the_table_needs_stops_it(tmp_path: Path) -> None:
    async def scenario(board: Callboard) -> None:
        done = await board.entities(Account).send("alice", Move(cents=1))
        done = await board.entities(Account).send("alice", Move(cents=1))
        log_id = await board.log.identity(TOPIC)
        await board.log.trim(TOPIC, Retention(below_offset=done.offset, log_id=log_id))
        with pytest.raises(RequestRefused, match=r"the first records of .* were removed") as raised:
            await board.projection(Balances, into=PLACE).reached(done.offset, of=Account)
        assert raised.value.code == "stopped"

    on_board(tmp_path, scenario)


@pytest.mark.proves("A22")
def test_one_that_waits_in_vain_is_told_how_far_it_is(tmp_path: Path) -> None:
    async def scenario(board: Callboard) -> None:
        await moved(board)
        with pytest.raises(NotAnswered, match=r"has not reached offset 500 .* it has read up to 10"):
            await board.projection(Balances, into=PLACE).reached(500, of=Account, timeout_s=0.3)

    on_board(tmp_path, scenario)


@event("test_projections.visited", version=1)
class Visited(Event):
    """An event of an agent."""

    page: str


class Visits(Projection[Balance]):
    """Counts visits of pages."""

    sources = ("site.visits",)

    def keys(self, recorded: Recorded) -> tuple[str, ...]:
        assert isinstance(recorded.event, Visited)
        return (recorded.event.page,)

    def evolve(self, key: str, row: Balance | None, recorded: Recorded) -> Balance:
        return Balance(moves=(row.moves if row else 0) + 1)


def test_a_topic_of_the_services_own_can_be_projected(tmp_path: Path) -> None:
    async def scenario(board: Callboard) -> None:
        visits = board.projection(Visits, into=PLACE)
        await visits.start()
        await board.log.ensure("site.visits")
        pages = ["/", "/about", "/"]
        records = [
            record_of(Visited(page=page), record_id=str(number), time_ns=number, producer="web")
            for number, page in enumerate(pages)
        ]
        offsets = await board.log.append("site.visits", records)
        await visits.reached(max(offsets), of="site.visits")

    on_board(tmp_path, scenario)
    assert table(tmp_path) == {"/": (0, 2), "/about": (0, 1)}


@pytest.mark.proves("A27")
def test_a_reaction_is_carried_out_once_over_restarts_and_an_older_store(tmp_path: Path) -> None:
    async def scenario(board: Callboard) -> None:
        accounts, gift = board.entities(Account), board.reaction(Gift, into=PLACE)
        done = await accounts.send("alice", Move(cents=100))
        await gift.reached(done.offset, of=Account)

    for number in range(1, 4):
        on_board(tmp_path, scenario)
        if number == 1:
            shutil.copy(tmp_path / "read.db", tmp_path / "yesterday.db")
        if number == 2:
            (tmp_path / "yesterday.db").replace(tmp_path / "read.db")

    async def check(board: Callboard) -> None:
        assert (await board.entities(Account).get("alice")).state == Account(cents=303)

    on_board(tmp_path, check)


class NoRow(Projection):  # type: ignore[type-arg]
    sources = (Account,)


class NoSource(Balances):
    sources = ()


class NoEvolve(Projection[Balance]):
    sources = (Account,)


class WrongSource(Balances):
    sources = ("Not A Topic",)


class RowOfRows(Projection[Moved]):
    sources = (Balance,)  # type: ignore[assignment]

    def evolve(self, key: str, row: Moved | None, recorded: Recorded) -> Moved:
        return Moved(cents=1)


@event("test_projections.list", version=1)
class Listed(Event):
    """A row that no table can hold."""

    many: tuple[int, ...] = ()


class Lists(Projection[Listed]):
    sources = (Account,)

    def evolve(self, key: str, row: Listed | None, recorded: Recorded) -> Listed:
        return Listed()


class Nameless(Gift):
    name = ""


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda board: board.projection(Account, into=PLACE), "is no projection"),
        (lambda board: board.projection(NoRow, into=PLACE), "does not name a declared event as its row"),
        (lambda board: board.projection(NoSource, into=PLACE), "name up to"),
        (lambda board: board.projection(NoEvolve, into=PLACE), "has no evolve"),
        (lambda board: board.projection(WrongSource, into=PLACE), "cannot be the name of a topic"),
        (lambda board: board.projection(RowOfRows, into=PLACE), "is no class of entities"),
        (lambda board: board.projection(Lists, into=PLACE), "Listed.many cannot be a column"),
        (lambda board: board.projection(Balances, into="read.db"), "names no place for a table"),
        (lambda board: board.projection(Balances, into=""), "names no place for a table"),
        (lambda board: board.projection(Balances, into=None), "names no place for a table"),
        (lambda board: board.reaction(Balances, into=PLACE), "is no reaction"),
        (lambda board: board.reaction(Nameless, into=PLACE), "name is ''"),
    ],
)
def test_wrong_classes_and_places_are_refused_at_once(
    tmp_path: Path, call: Callable[[Callboard], Any], words: str
) -> None:
    async def scenario(board: Callboard) -> None:
        with pytest.raises(ConfigError, match=words):
            call(board)

    on_board(tmp_path, scenario)


def test_a_database_that_does_not_answer_is_named_to_who_waits(tmp_path: Path) -> None:
    (tmp_path / "read.db").write_bytes(b"this is no database, but somebody's notes" * 100)

    async def scenario(board: Callboard) -> None:
        done = await board.entities(Account).send("alice", Move(cents=1))
        balances = board.projection(Balances, into=PLACE)
        with pytest.raises(NotAnswered, match=r"read\.db: file is not a database"):
            await balances.reached(done.offset, of=Account, timeout_s=0.5)
        assert "file is not a database" in (await balances.status()).troubles[0]

    on_board(tmp_path, scenario)


def test_a_reaction_reaches_entities_that_nobody_has_used_yet(tmp_path: Path) -> None:
    async def scenario(board: Callboard) -> None:
        welcome = board.reaction(Welcome, into=PLACE)
        await board.log.ensure("site.visits")
        visited = record_of(Visited(page="/"), record_id="1", time_ns=1, producer="web")
        (offset,) = await board.log.append("site.visits", [visited])
        await welcome.reached(offset, of="site.visits")
        assert (await board.entities(Account).get("visitor")).state == Account(cents=1)

    on_board(tmp_path, scenario)


class Welcome(Reaction):
    """One cent for the first visit."""

    name = "welcome"
    sources = ("site.visits",)

    def react(self, recorded: Recorded) -> list[Ask]:
        return [Ask("welcome", Account, "visitor", Move(cents=1))]


class Misspelled(Visits):
    """A topic that nobody writes to."""

    sources = ("site.visit",)


def test_a_topic_that_is_not_there_is_told(tmp_path: Path) -> None:
    async def scenario(board: Callboard) -> None:
        visits = board.projection(Misspelled, into=PLACE)
        with pytest.raises(NotAnswered, match=r"there is no topic 'site\.visit'"):
            await visits.reached(5, of="site.visit", timeout_s=0.5)
        status = await visits.status()
        assert (status.state, status.behind) == ("building", {"site.visit": 0})
        with pytest.raises(RequestRefused, match=r"has no source 'site\.visits'; it has site\.visit"):
            await visits.reached(5, of="site.visits")

    on_board(tmp_path, scenario)
