"""Whether all is well in the end: the invariant of an example, by what is on the log and in the tables."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from callboard import Callboard
from callboard.actors import Entity
from callboard.messages.declared.registry import declaration_of
from callboard.messages.topics import entity_topic
from callboard.testing.actors.simulation.history import History
from tests.chaos.examples.example_service import lines
from tests.chaos.examples.place import Place
from tests.chaos.examples.stories import command
from tests.examples.worlds import WORLDS

DEADLINE_S = 120.0
POLL_S = 0.1


class Findings:
    """What an invariant is shown, like a ``View``, of real services."""

    ended = True

    def __init__(self, histories: Mapping[type[Entity], History], rows: Mapping[type, Mapping[str, Any]]) -> None:
        self._histories, self._rows = histories, rows

    def states(self, entity: type[Entity]) -> dict[str, Entity]:
        return self._histories[entity].states()

    def rows(self, projection: type) -> Mapping[str, Any]:
        return self._rows[projection]


class Judge:
    """Reads the log of an example as it grows, and looks at its tables."""

    def __init__(self, board: Callboard, example: str, place: Place, folder: Path) -> None:
        self._board, self._world, self._place, self._folder = board, WORLDS[example], place, folder
        sent = {unique: command(unique) for path in folder.glob("*.sent") for unique in lines(path)}
        self._sent = sent
        self._histories = {
            entity: History(entity, {unique: its.command for unique, its in sent.items() if its.entity is entity}, str)
            for entity in self._world["entities"]
        }
        self._next = dict.fromkeys(self._histories, -1)

    async def judge(self) -> None:
        """Wait until nothing is to be done and the tables are complete; then check everything."""
        deadline = time.monotonic() + DEADLINE_S
        while True:
            for entity in self._histories:
                await self._read(entity)
            tasks = [task for its in self._histories.values() for task in its.tasks()]
            problem = f"{len(tasks)} tasks, such as {tasks[0]}" if tasks else self._invariant()
            if not problem:
                break
            assert time.monotonic() < deadline, problem
            await asyncio.sleep(POLL_S)
        self._check_answers()
        await self._check_states()

    async def _read(self, entity: type[Entity]) -> None:
        """Apply what is new; a command that counts twice, or not as it was decided, is an error."""
        topic, history = entity_topic(_name(entity)), self._histories[entity]
        start = max(self._next[entity], (await self._board.log.bounds(topic)).first)
        while records := await self._board.log.read(topic, start):
            for record in records:
                history.see(record)
            start = records[-1].offset + 1
        self._next[entity] = start

    def _invariant(self) -> str:
        """Why it does not hold; nothing if it does."""
        rows: dict[type, Mapping[str, Any]] = {}
        for projection in self._world["projections"]:
            (base,) = projection.__orig_bases__
            found = self._place.rows(_name(base.__args__[0]).replace(".", "_"))
            rows[projection] = {key: SimpleNamespace(**columns) for key, columns in found.items()}
        try:
            self._world["invariant"](Findings(self._histories, rows))
        except AssertionError as error:
            return str(error) or "the invariant does not hold"
        return ""

    def _check_answers(self) -> None:
        """All commands were answered, and those with an offset are there."""
        told = defaultdict[str, set[int]](set)
        for path in self._folder.glob("*.done"):
            for line in lines(path):
                unique, offset = line.split()
                told[unique].add(int(offset))
        assert told.keys() == self._sent.keys(), "a command was not answered"
        made = {unique: its.offset for each in self._histories.values() for unique, its in each.made.items()}
        for unique, offsets in told.items():
            assert offsets - {-1} == ({made[unique]} if unique in made else set()), f"{unique}: {offsets}"

    async def _check_states(self) -> None:
        """A board that has seen nothing of this finds the same states."""
        for entity, history in self._histories.items():
            kept = self._board.entities(entity, runs=False)
            states = history.states()
            found = {key: (await kept.get(key, after=self._next[entity] - 1)).state for key in states}
            assert found == states


def _name(declared: type[Any]) -> str:
    its = declaration_of(declared)
    assert its is not None
    return its.name


async def judge(example: str, log: str, place: Place, folder: Path) -> None:
    """Judge what services have made of an example."""
    async with Callboard(log, blobs="./blobs", base=folder) as board:
        await Judge(board, example, place, folder).judge()
