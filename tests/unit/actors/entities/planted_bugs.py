"""Faults that are planted into the keeper of entities, to show that tests find them."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from callboard.actors.core.decision import Effect, Moment
from callboard.actors.entities.deciding import Trial
from callboard.actors.entities.held import Held
from callboard.actors.entities.keeper import Keeper
from callboard.messages.entities.entity_messages import EntityCommitMessage


def commits_always_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Held, "counts", lambda self, commit, offset: True)


def versions_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Held, "counts", lambda self, commit, offset: commit.version <= self.version)


def answers_before_it_is_read_back(monkeypatch: pytest.MonkeyPatch) -> None:
    work = Keeper._work

    def impatient(self: Keeper, now: Moment) -> Iterator[Effect]:
        commands = self._commands
        if commands.landed >= 0:
            for its in commands._appending:
                if its.decided and its.decided.commit:
                    yield from commands._answer(its, its.decided.outcome)
            commands._clear()
        yield from work(self, now)

    monkeypatch.setattr(Keeper, "_work", impatient)


def commands_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    apply = Held.apply

    def forgetful(self: Held, commit: EntityCommitMessage, *more: Any) -> None:
        apply(self, commit, *more)
        _, offset, *_ = more
        if offset > 0:
            self.made = {commit.command_id: self.made[commit.command_id]}

    monkeypatch.setattr(Held, "apply", forgetful)


def refuses_on_what_is_only_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    decide = Trial.decide
    monkeypatch.setattr(Trial, "decide", lambda self, its, now_ns: replace(decide(self, its, now_ns), based_on=None))


BUGS = (
    refuses_on_what_is_only_tried,
    commits_always_count,
    versions_do_not_count,
    answers_before_it_is_read_back,
    commands_are_forgotten,
)
