"""A store that somebody has to correct stops what needs it, with the reason; it is not tried for ever."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from callboard import Callboard, ConfigError, RepositoryOccupied, RequestRefused
from callboard.actors.core.decision import Done, Failed
from callboard.actors.core.fold_effects import LoadFold, SaveFold
from callboard.actors.entities.mark import Place
from callboard.actors.entities.settings import EntitySettings
from callboard.actors.entities.shelf import Refused, Shelf
from callboard.backends.fold_store import Loaded
from callboard.messages.entities.entity_messages import EntityCommitMessage
from callboard.messages.entities.sealing import sealed
from tests.e2e.commands.test_commands import on_a_loop
from tests.unit.actors.entities.bank import Account, Move, Moved
from tests.unit.board.entities.test_projections import Balances

PATIENCE_S = 20.0


@on_a_loop
async def test_a_place_of_something_else_stops_entities(tmp_path: Path) -> None:
    (tmp_path / "occupied").mkdir()
    async with Callboard("memory:", base=tmp_path) as board:
        accounts = board.entities(Account, snapshots="sqlite:occupied")
        with pytest.raises(ConfigError, match="occupied is no file; choose another place"):
            await accounts.send("alice", Move(cents=5), timeout_s=PATIENCE_S)
        async with asyncio.timeout(PATIENCE_S):
            while (row := (await board.folds())[0]).state == "reading":  # noqa: ASYNC110 - announced by an actor
                await asyncio.sleep(0.05)
        assert (row.state, row.problem) == ("stopped", f"{tmp_path}/occupied is no file; choose another place")


@on_a_loop
async def test_a_place_of_something_else_stops_a_projection(tmp_path: Path) -> None:
    (tmp_path / "occupied").mkdir()
    async with Callboard("memory:", base=tmp_path) as board:
        balances = board.projection(Balances, into="sqlite:occupied")
        with pytest.raises(RequestRefused, match=r"is stopped: .*occupied is no file") as caught:
            await balances.reached(1, Account, timeout_s=PATIENCE_S)
        assert caught.value.code == "stopped"
        assert (await balances.status()).state == "stopped"


@on_a_loop
async def test_a_name_of_something_else_stops_a_projection_before_others_see_its_rows(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "tables.db")) as db:
        db.execute("CREATE TABLE test_projections_balance (theirs)")
    async with Callboard("memory:", base=tmp_path) as board:
        balances = board.projection(Balances, into="sqlite:tables.db")
        with pytest.raises(RequestRefused, match="has a table 'test_projections_balance' of something else"):
            await balances.reached(1, Account, timeout_s=PATIENCE_S)
        assert (await balances.status()).state == "stopped"


def test_a_shelf_whose_store_is_refused_waits_for_nothing_any_more() -> None:
    shelf = Shelf(EntitySettings(Account, "t", "i", is_stored=True), Random(1))
    [opening] = shelf.open()
    assert isinstance(opening, LoadFold)
    shelf.handle(Done(opening, Loaded("", {})))
    commit = EntityCommitMessage(key="a", commit_id=7, command_id="c", events=(sealed(Moved(cents=5)),))
    assert shelf.apply(commit, 1, None) is not None
    [saving] = shelf.save(Place("log", 2), now=True)
    assert isinstance(saving, SaveFold)
    assert shelf.is_saving
    news, effects = shelf.handle(Failed(saving, RepositoryOccupied("it is something else's")))
    assert (news, effects) == (Refused("it is something else's"), ())
    assert not shelf.is_saving
