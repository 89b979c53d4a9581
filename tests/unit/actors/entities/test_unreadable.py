"""Entities whose state is not known are counted, wherever that turns out, and their snapshots claim nothing."""

from random import Random
from typing import Any

from callboard.actors.core.decision import Done
from callboard.actors.core.fold_effects import SaveFold
from callboard.actors.entities import mark as marks
from callboard.actors.entities.held import Held
from callboard.actors.entities.mark import Place
from callboard.actors.entities.settings import EntitySettings
from callboard.actors.entities.shelf import Shelf
from callboard.actors.entities.snapshot import HELD
from callboard.backends.fold_store import Loaded
from callboard.messages.entities.entity_messages import EntityCommitMessage
from callboard.messages.entities.sealing import sealed
from callboard.messages.event import Event
from tests.unit.actors.entities.bank import Account, Move, Moved


def shelf() -> Shelf:
    its = Shelf(EntitySettings(Account, "t", "i", is_stored=True), Random(1))
    [opening] = its.open()
    its.handle(Done(opening, Loaded("", {})))
    return its


def commit(key: str, number: int, event: Event) -> EntityCommitMessage:
    """The commit of this number of an entity."""
    its: dict[str, Any] = {"previous": number - 1, "version": number - 1, "commit_id": number}
    return EntityCommitMessage(key=key, command_id=f"c{number}", events=(sealed(event),), **its)


def saved(its: Shelf, following: int) -> SaveFold:
    [effect] = its.save(Place("log", following), now=True)
    assert isinstance(effect, SaveFold)
    return effect


def test_an_entity_is_unreadable_from_the_event_on_that_cannot_be_applied() -> None:
    its = shelf()
    for offset, (key, number, event) in enumerate(
        [("a", 1, Moved(cents=1)), ("b", 1, Moved(cents=1)), ("a", 2, Move(cents=1)), ("a", 3, Moved(cents=1))], 1
    ):
        its.apply(commit(key, number, event), offset, None)
        assert list(its.table.unreadable) == (["a"] if offset >= 3 else [])
    assert its.table.unreadable["a"] is its.table.held["a"]
    assert "AssertionError" in its.table.unreadable["a"].problem
    effect = saved(its, 5)
    assert (effect.mark, list(effect.rows[HELD])) == ("", ["b"])


def test_an_entity_is_unreadable_if_its_state_cannot_be_saved() -> None:
    its = shelf()
    its.apply(commit("a", 1, Moved(cents=1)), 1, Held(Account(cents="many")))  # type: ignore[arg-type]  # as of a bug
    its.apply(commit("b", 1, Moved(cents=1)), 2, None)
    assert not its.table.unreadable
    effect = saved(its, 3)
    assert list(its.table.unreadable) == ["a"]
    assert (effect.mark, list(effect.rows[HELD])) == ("", ["b"])


def test_the_mark_moves_on_while_all_are_readable() -> None:
    its = shelf()
    its.apply(commit("a", 1, Moved(cents=1)), 1, None)
    assert saved(its, 2).mark == marks.written({"t": Place("log", 2)})
