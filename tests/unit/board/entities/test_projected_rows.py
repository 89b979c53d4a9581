"""Projections of a board, as a service waits for them."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

import pytest

from callboard import Callboard, CommandRefused, RequestRefused
from callboard.actors import Ask, Event, Projection, Reaction, Recorded, event
from callboard.actors.entities.projections.table_rows import ROWS, fold_of
from callboard.backends.fold_stores import open_fold_store
from callboard.door.actors.projections import projection
from callboard.sync import Callboard as BlockingCallboard
from tests.unit.actors.entities.bank import Account, Move, Moved

SOON_S = 5.0
"""Half the time that a reader waits for the first record of an empty topic."""


@event("test_projected_rows.balance", version=1)
class Balance(Event):
    """A row."""

    cents: int = 0


class Balances(Projection[Balance]):
    """The sum of what was moved."""

    sources = (Account,)

    def evolve(self, key: str, row: Balance | None, recorded: Recorded) -> Balance:
        """See ``Projection``."""
        assert isinstance(recorded.event, Moved)
        return Balance(cents=(row.cents if row else 0) + recorded.event.cents)


class Idle(Reaction):
    """Does nothing."""

    name = "test_projected_rows.idle"
    sources = (Account,)

    def react(self, recorded: Recorded) -> Iterable[Ask]:
        """See ``Reaction``."""
        return ()


def test_code_without_an_event_loop_has_entities_projections_and_reactions(tmp_path: Path) -> None:
    with BlockingCallboard("memory:", base=tmp_path) as board:
        accounts = board.entities(Account, snapshots="sqlite:snapshots.db", in_memory=10, runs=False)
        balances, idle = board.projection(Balances, into="sqlite:t.db"), board.reaction(Idle, into="sqlite:t.db")
        for its in (accounts, balances, idle):
            assert not its.start().has_ended
        done = accounts.send("alice", Move(cents=5), version=0)
        with pytest.raises(CommandRefused, match="version 1, not 0"):
            accounts.send("alice", Move(cents=5), version=0)
        done = accounts.record("alice", [Moved(cents=2)], version=done.version)
        assert accounts.get("alice", after=done.offset).state == Account(cents=7)
        for each in (balances, idle):
            each.reached(done.offset, Account)
        assert balances.get("alice") == Balance(cents=7)
        assert (balances.status().state, idle.status().state) == ("live", "live")
        balances.rebuild()
        balances.reached(done.offset, Account)
        assert balances.get("alice") == Balance(cents=7)


LONGEST = "ü" * 1000


class ByLongKeys(Balances):
    """Has a row for the longest key, and one for a longer key once the balance is odd."""

    def keys(self, recorded: Recorded) -> Iterable[str]:
        """See ``Projection``."""
        assert isinstance(recorded.event, Moved)
        return (LONGEST + "x" * (recorded.event.cents % 2),)


def test_a_key_has_2000_bytes_at_most(tmp_path: Path) -> None:
    async def main() -> None:
        async with Callboard("memory:", base=tmp_path) as board:
            balances, accounts = board.projection(ByLongKeys, into="sqlite:tables.db"), board.entities(Account)
            done = await accounts.send("alice", Move(cents=2))
            await balances.reached(done.offset, Account)
            assert await balances.get(LONGEST) == Balance(cents=2)
            for wrong in (LONGEST + "x", "", "\0", "\ud800"):
                with pytest.raises(RequestRefused, match="1 to 2000 bytes"):
                    await balances.get(wrong)
            done = await accounts.send("alice", Move(cents=1))
            with pytest.raises(RequestRefused, match="1 to 2000 bytes"):
                await balances.reached(done.offset, Account)

    asyncio.run(main())


def test_a_row_is_the_published_one_until_a_rebuild_is_finished(tmp_path: Path) -> None:
    async def main() -> None:
        async with Callboard("memory:", base=tmp_path) as board:
            balances, accounts = board.projection(Balances, into="sqlite:tables.db"), board.entities(Account)
            done = await accounts.send("alice", Move(cents=5))
            await balances.reached(done.offset, Account)
            begun = open_fold_store("sqlite:tables.db", tmp_path, fold_of(projection(Balances, board.settings.prefix)))
            await begun.rebuild()  # as a projector that is killed then
            assert (await begun.load({ROWS: ["alice"]})).rows == {ROWS: {}}
            assert await balances.get("alice") == Balance(cents=5)
            await begun.close()
            await balances.rebuild()
            await balances.reached(done.offset, Account)
            assert await balances.get("alice") == Balance(cents=5)

    asyncio.run(main())
