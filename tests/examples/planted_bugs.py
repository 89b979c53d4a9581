"""Faults that are planted into processes, projections, reactions and snapshots, to show that simulations find them."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from callboard.actors.core.decision import Effect, Moment
from callboard.actors.core.fold_effects import SaveFold
from callboard.actors.entities import shelf
from callboard.actors.entities.deciding import Trial
from callboard.actors.entities.held import Held
from callboard.actors.entities.mark import Place
from callboard.actors.entities.processes import conductor
from callboard.actors.entities.processes.conductor import Conductor
from callboard.actors.entities.projections.batch import Batch, Folded
from callboard.actors.entities.projections.projector import Projector
from callboard.actors.entities.shelf import Shelf
from callboard.backends.fold_store import Row, Rows
from callboard.backends.fold_stores.sqlite import SqliteFolds
from callboard.messages.entities.entity_mail import EntityCommand, EntityOutcome
from callboard.messages.event import replaced


def refusals_are_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    decide = Trial.decide
    monkeypatch.setattr(Trial, "decide", lambda self, its, now_ns: decide(self, replaced(its, is_final=False), now_ns))


def a_task_is_another_command_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = Random(1)
    monkeypatch.setattr(conductor, "command_id", lambda topic, key, task: f"{numbers.getrandbits(64):x}")


def refused_tasks_count_as_done(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = Conductor._answered

    def hopeful(self: Conductor, unique: str, outcome: EntityOutcome, now: Moment) -> Any:
        return answered(self, unique, replaced(outcome, problem="", code="", refused=False), now)

    monkeypatch.setattr(Conductor, "_answered", hopeful)


def active_processes_are_forgotten_at_a_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Shelf, "find_active", lambda self, after="": iter(()))
    monkeypatch.setattr(shelf, "is_active", lambda key, held: False)


def deadlines_are_never_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    work = Conductor.work

    def patient(self: Conductor, now: Moment) -> Iterator[Effect | EntityCommand]:
        return work(self, Moment(0, now.mono_s))

    monkeypatch.setattr(Conductor, "work", patient)


def all_commits_are_projected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Batch, "_counts", lambda self, entry, folded, cache: True)


def rows_are_saved_whatever_the_mark_is(monkeypatch: pytest.MonkeyPatch) -> None:
    save, load = SqliteFolds.save, SqliteFolds.load

    def careless(self: SqliteFolds, was: str, mark: str, rows: Rows) -> str:
        return save(self, load(self, {}).mark, mark, rows)

    monkeypatch.setattr(SqliteFolds, "save", careless)


def the_mark_is_saved_before_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    save = SqliteFolds.save
    kept: dict[int, tuple[str, Rows]] = {}

    def late(self: SqliteFolds, was: str, mark: str, rows: Rows) -> str:
        before = kept.get(id(self), ("", {}))[1]
        result = save(self, was, mark, before)
        if result == mark:
            kept[id(self)] = mark, rows
        return result

    monkeypatch.setattr(SqliteFolds, "save", late)


def a_reaction_goes_on_before_its_commands_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    send = Projector._send

    def hasty(self: Projector) -> Iterator[Effect]:
        yield from send(self)
        if self._asks and self._request is None:
            self._asks.clear()
            yield from send(self)

    monkeypatch.setattr(Projector, "_send", hasty)


def no_one_takes_over_a_projection(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = Projector._begin_work
    monkeypatch.setattr(
        Projector, "_begin_work", lambda self, message: iter(()) if self._is_standby else begin(self, message)
    )


def a_store_that_was_set_back_is_not_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    take = Shelf._take

    def trusting(self: Shelf, effect: object, result: Any) -> Any:
        mark = self.mark
        if isinstance(effect, SaveFold) and isinstance(result, str):
            self.mark = result
            if result == effect.mark:
                self._clean(effect)
            return None
        self.mark = ""
        news = take(self, effect, result)
        self.mark = self.mark or mark
        return news

    monkeypatch.setattr(Shelf, "_take", trusting)


def snapshots_claim_more_than_they_have(monkeypatch: pytest.MonkeyPatch) -> None:
    save = Shelf.save
    monkeypatch.setattr(
        Shelf, "save", lambda self, place, now=False: save(self, Place(place.log_id, place.next + 1), now=now)
    )


def snapshots_lack_what_came_last(monkeypatch: pytest.MonkeyPatch) -> None:
    row_of = shelf.row_of
    rows: dict[tuple[int, int], Row | None] = {}

    def outdated(held: Held, as_of: int) -> Row | None:
        return rows.setdefault((id(held), held.version // 2), row_of(held, as_of))

    monkeypatch.setattr(shelf, "row_of", outdated)


def commands_are_forgotten_with_their_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    held_in = shelf.held_in
    monkeypatch.setattr(shelf, "held_in", lambda row, initial: replace(held_in(row, initial), made={}))


def half_a_commit_is_projected(monkeypatch: pytest.MonkeyPatch) -> None:
    fold = Batch.fold

    def partial(self: Batch, cache: Any) -> Folded:
        folded = fold(self, cache)
        folded.rows.get("rows", {}).pop(next(iter(folded.rows.get("rows", {})), ""), None)
        return folded

    monkeypatch.setattr(Batch, "fold", partial)


BUGS = {
    refusals_are_not_recorded: "bank",
    a_task_is_another_command_each_time: "bank",
    refused_tasks_count_as_done: "bank",
    active_processes_are_forgotten_at_a_restart: "bank",
    deadlines_are_never_reached: "stock",
    all_commits_are_projected: "bank",
    rows_are_saved_whatever_the_mark_is: "bank",
    the_mark_is_saved_before_the_rows: "bank",
    a_reaction_goes_on_before_its_commands_are_answered: "stock",
    no_one_takes_over_a_projection: "bank",
    a_store_that_was_set_back_is_not_noticed: "bank",
    snapshots_claim_more_than_they_have: "bank",
    snapshots_lack_what_came_last: "bank",
    commands_are_forgotten_with_their_snapshots: "bank",
    half_a_commit_is_projected: "bank",
}
"""And the example that finds each."""

SEEDS = {refusals_are_not_recorded: 35, no_one_takes_over_a_projection: 152}
"""The first that finds a bug which few seeds find; it is tried before the others."""
