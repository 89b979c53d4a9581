"""Snapshots of entities on a real board: what they save, and everything that can be wrong with them."""

import asyncio
import shutil
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from callboard import Callboard, CommandRefused, ConfigError, LogUnavailable, NotAnswered, RequestRefused
from callboard.backends.log import Retention
from callboard.board.entities.entities import Entities
from tests.unit.actors.entities.bank import Account, Close, Move, Moved

TOPIC = "callboard.entity.test_bank.account"
PLACE = "sqlite:snapshots.db"
Scenario = Callable[[Entities[Account]], Awaitable[None]]


def on_accounts(folder: Path, scenario: Scenario, *, snapshots: str = PLACE, in_memory: int = 3) -> None:
    async def on_board() -> None:
        async with Callboard("sqlite:///./board", base=folder) as board:
            await scenario(board.entities(Account, snapshots=snapshots, in_memory=in_memory))

    asyncio.run(asyncio.wait_for(on_board(), 60))


async def deposited(accounts: Entities[Account], many: int = 20) -> None:
    await asyncio.gather(*(accounts.send(f"account {number}", Move(cents=number)) for number in range(1, many + 1)))


def saved(folder: Path) -> dict[str, int]:
    """The versions of the saved entities."""
    with closing(sqlite3.connect(folder / "snapshots.db")) as database:
        ((number,),) = database.execute("SELECT max(id) FROM callboard_folds").fetchall()
        return dict(database.execute(f"SELECT key, version FROM callboard_fold_{number}_held").fetchall())


async def balance(accounts: Entities[Account], key: str) -> tuple[int | None, int]:
    view = await accounts.get(key)
    return view.state.cents if view.state else None, view.version


def trim(folder: Path, below: int) -> None:
    async def on_board() -> None:
        async with Callboard("sqlite:///./board", base=folder) as board:
            log_id = await board.log.identity(TOPIC)
            await board.log.trim(TOPIC, Retention(below_offset=below, log_id=log_id))

    asyncio.run(on_board())


@pytest.mark.proves("A13")
def test_a_restart_goes_on_from_what_was_saved_even_if_the_log_was_trimmed(tmp_path: Path) -> None:
    on_accounts(tmp_path, deposited)
    assert len(saved(tmp_path)) == 20
    trim(tmp_path, 15)

    async def go_on(accounts: Entities[Account]) -> None:
        assert await balance(accounts, "account 1") == (1, 1)
        assert (await accounts.send("account 1", Move(cents=5))).version == 2
        assert await balance(accounts, "account 1") == (6, 2)
        assert await balance(accounts, "nobody") == (None, 0)

    on_accounts(tmp_path, go_on)

    async def without(accounts: Entities[Account]) -> None:
        with pytest.raises(LogUnavailable, match="the first records"):
            await accounts.get("account 1")

    on_accounts(tmp_path, without, snapshots="")


@pytest.mark.proves("A5", "A15")
def test_entities_that_are_not_in_memory_are_loaded_and_known_commands_stay_known(tmp_path: Path) -> None:
    async def scenario(accounts: Entities[Account]) -> None:
        first = await accounts.send("alice", Move(cents=5), command_id="once")
        for _ in range(3):
            await deposited(accounts, 50)
        assert await balance(accounts, "alice") == (5, 1)
        again = await accounts.send("alice", Move(cents=5), command_id="once")
        assert (again.repeated, again.version, again.offset) == (True, 1, first.offset)
        assert [await balance(accounts, f"account {number}") for number in (1, 25, 50)] == [(3, 3), (75, 3), (150, 3)]

    on_accounts(tmp_path, scenario)

    async def again(accounts: Entities[Account]) -> None:
        assert (await accounts.send("alice", Move(cents=5), command_id="once")).repeated

    on_accounts(tmp_path, again)


@pytest.mark.proves("A8")
def test_a_deleted_entity_is_new_after_a_restart_and_its_version_goes_on(tmp_path: Path) -> None:
    async def close(accounts: Entities[Account]) -> None:
        await accounts.send("alice", Move(cents=5))
        await accounts.send("alice", Close())

    async def reopen(accounts: Entities[Account]) -> None:
        assert await balance(accounts, "alice") == (None, 2)
        assert (await accounts.send("alice", Move(cents=1))).version == 3
        assert await balance(accounts, "alice") == (1, 3)

    on_accounts(tmp_path, close)
    on_accounts(tmp_path, reopen)


def damage(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "snapshots.db")) as database, database:
        ((number,),) = database.execute("SELECT max(id) FROM callboard_folds").fetchall()
        database.execute(f"UPDATE callboard_fold_{number}_held SET version = 7 WHERE key = 'account 1'")


def lie(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "snapshots.db")) as database, database:
        database.execute("UPDATE callboard_folds SET mark = 'nonsense'")


def of_another_log(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "snapshots.db")) as database, database:
        database.execute(f"""UPDATE callboard_folds SET mark = '{{"{TOPIC}": ["other", 5]}}'""")


def ahead(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "snapshots.db")) as database, database:
        database.execute("UPDATE callboard_folds SET mark = replace(mark, ' 21]', ' 2100]')")


def remove(folder: Path) -> None:
    (folder / "snapshots.db").unlink()


def drop(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "snapshots.db")) as database, database:
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE name LIKE 'callboard_fold_%'").fetchall():
            database.execute(f"DROP TABLE {name}")


@pytest.mark.proves("A14")
@pytest.mark.parametrize("harm", [damage, lie, of_another_log, ahead, remove, drop])
def test_snapshots_that_are_wrong_are_made_again(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    on_accounts(tmp_path, deposited)
    harm(tmp_path)

    async def scenario(accounts: Entities[Account]) -> None:
        assert await balance(accounts, "account 1") == (1, 1)
        await deposited(accounts)
        assert await balance(accounts, "account 20") == (40, 2)

    on_accounts(tmp_path, scenario)
    assert set(saved(tmp_path).values()) == {2}


@pytest.mark.proves("A14")
@pytest.mark.parametrize("harm", [damage, remove, drop])
def test_they_are_made_again_under_a_running_service_too(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    async def scenario(accounts: Entities[Account]) -> None:
        for many in range(1, 4):
            await deposited(accounts, 40)
            if (tmp_path / "snapshots.db").exists():
                harm(tmp_path)
            states = [await balance(accounts, f"account {number}") for number in range(1, 41)]
            assert states == [(number * many, many) for number in range(1, 41)]

    on_accounts(tmp_path, scenario)

    async def check(accounts: Entities[Account]) -> None:
        assert await balance(accounts, "account 40") == (120, 3)

    on_accounts(tmp_path, check)


@pytest.mark.proves("A14")
def test_an_older_copy_of_the_file_is_caught_up_again(tmp_path: Path) -> None:
    on_accounts(tmp_path, deposited)
    shutil.copy(tmp_path / "snapshots.db", tmp_path / "yesterday.db")
    on_accounts(tmp_path, deposited)
    (tmp_path / "yesterday.db").replace(tmp_path / "snapshots.db")

    async def scenario(accounts: Entities[Account]) -> None:
        assert await balance(accounts, "account 7") == (14, 2)
        await deposited(accounts)

    on_accounts(tmp_path, scenario)
    assert set(saved(tmp_path).values()) == {3}


@pytest.mark.proves("A14")
def test_a_log_that_was_replaced_has_its_own_snapshots(tmp_path: Path) -> None:
    on_accounts(tmp_path, deposited)
    shutil.rmtree(tmp_path / "board")

    async def scenario(accounts: Entities[Account]) -> None:
        assert await balance(accounts, "account 7") == (None, 0)
        await accounts.send("account 7", Move(cents=1))

    on_accounts(tmp_path, scenario)
    assert saved(tmp_path) == {"account 7": 1}


@pytest.mark.proves("A16")
def test_several_services_share_a_file(tmp_path: Path) -> None:
    async def both() -> None:
        boards = [Callboard("sqlite:///./board", base=tmp_path) for _ in range(3)]
        async with boards[0], boards[1], boards[2]:
            kept = [board.entities(Account, snapshots=PLACE, in_memory=2) for board in boards]
            for _ in range(3):
                await asyncio.gather(*(deposited(each, 20) for each in kept))
            far = max([(await each.send("last", Move(cents=1))).offset for each in kept])
            for each in kept:
                states = [(await each.get(f"account {number}", after=far)).state for number in range(1, 21)]
                assert [state and state.cents for state in states] == [9 * number for number in range(1, 21)]

    asyncio.run(asyncio.wait_for(both(), 60))

    async def check(accounts: Entities[Account]) -> None:
        assert await balance(accounts, "account 20") == (180, 9)

    on_accounts(tmp_path, check)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"snapshots": "snapshots.db"}, "names no place for a table"),
        ({"snapshots": "sqlite:"}, "names no place for a table"),
        ({"snapshots": "mysql://localhost/db"}, "names no place for a table"),
        ({"snapshots": "postgresql://localhost"}, "names no database"),
        ({"snapshots": 5}, "snapshots is 5"),
        ({"in_memory": 0}, "in_memory is 0"),
        ({"in_memory": "many"}, "in_memory is 'many'"),
        ({"runs": "yes"}, "runs is 'yes'"),
    ],
)
def test_wrong_options_are_refused_at_once(tmp_path: Path, options: dict[str, object], words: str) -> None:
    async def on_board() -> None:
        async with Callboard("sqlite:///./board", base=tmp_path) as board:
            with pytest.raises(ConfigError, match=words):
                board.entities(Account, **options)  # type: ignore[arg-type]

    asyncio.run(on_board())


def test_a_board_keeps_the_entities_of_a_class_in_one_way(tmp_path: Path) -> None:
    async def scenario(accounts: Entities[Account]) -> None:
        with pytest.raises(ConfigError, match="use the same in all places"):
            Callboard.on(accounts._board).entities(Account)

    on_accounts(tmp_path, scenario)


@pytest.mark.proves("A7")
def test_a_version_that_is_expected_is_checked_and_events_can_be_recorded(tmp_path: Path) -> None:
    async def scenario(accounts: Entities[Account]) -> None:
        done = await accounts.send("alice", Move(cents=5), version=0)
        with pytest.raises(CommandRefused, match="has version 1, not 0") as raised:
            await accounts.send("alice", Move(cents=5), version=0)
        assert raised.value.code == "conflict"
        recorded = await accounts.record("alice", [Moved(cents=2), Moved(cents=3)], version=done.version)
        assert (recorded.version, recorded.events) == (2, (Moved(cents=2), Moved(cents=3)))
        assert await balance(accounts, "alice") == (10, 2)
        with pytest.raises(CommandRefused) as raised:
            await accounts.record("alice", [Moved(cents=2)], version=1)
        assert raised.value.code == "conflict"
        for events in ([], ["moved"], None):
            with pytest.raises(RequestRefused):
                await accounts.record("alice", events, version=2)  # type: ignore[arg-type]
        with pytest.raises(RequestRefused, match="version is -1"):
            await accounts.send("alice", Move(cents=5), version=-1)

    on_accounts(tmp_path, scenario)


def test_a_store_that_does_not_answer_is_named_to_who_waits(tmp_path: Path) -> None:
    (tmp_path / "snapshots.db").write_bytes(b"this is no database, but somebody's notes" * 100)

    async def scenario(accounts: Entities[Account]) -> None:
        with pytest.raises(NotAnswered, match=r"its snapshots: .*snapshots\.db.*file is not a database"):
            await accounts.send("alice", Move(cents=1), timeout_s=0.5)
        with pytest.raises(NotAnswered, match=r"its snapshots: .*snapshots\.db"):
            await accounts.get("alice", timeout_s=0.5)

    on_accounts(tmp_path, scenario)
    assert (tmp_path / "snapshots.db").read_bytes().startswith(b"this is no database")
