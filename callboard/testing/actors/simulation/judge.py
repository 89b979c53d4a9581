"""Judges services, rows and reactions by the log alone, once the faults are over."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

from callboard.actors.entities import roles
from callboard.actors.entities.entity import Entity
from callboard.actors.entities.processes.process import Ask
from callboard.actors.entities.projections import ProjectorSettings
from callboard.actors.entities.projections.asks import command_id
from callboard.actors.entities.projections.projection import Recorded
from callboard.actors.entities.projections.table_rows import ROWS, Columns
from callboard.messages.entities.entity_mail import EntityQuery
from callboard.messages.entities.sealing import opened
from callboard.messages.event import Event
from callboard.messages.record import Record
from callboard.testing.actors.rehearsal import shown
from callboard.testing.actors.simulation.history import History
from callboard.testing.actors.simulation.services import Services

CALM_S = 300.0
"""In this time, without faults, every question is answered."""


class Judge:
    """See the module. Its methods raise ``AssertionError`` for what is wrong.

    Args:
        services: what runs.
        topics: of the entities, by their classes.
        histories: of the entities, as the log has them.
        records: by their topics.
    """

    def __init__(
        self, services: Services, topics: Mapping[type[Entity], str], histories: Mapping[type[Entity], History],
        records: Mapping[str, Sequence[Record]],
    ) -> None:  # fmt: skip
        self._services, self._topics, self._histories, self._records = services, topics, histories, records

    async def compare_states(self, keys: Iterable[tuple[type[Entity], str]]) -> None:
        """All services have these entities as the log has them."""
        states = {entity: history.states() for entity, history in self._histories.items()}
        for entity, key in dict.fromkeys(keys):
            known, records = states[entity], self._records[self._topics[entity]]
            query = EntityQuery(key=key, after=records[-1].offset if records else -1)
            for number, host in enumerate(self._services.keepers[entity], 1):
                assert host.agent is not None
                answer = await host.agent.ask(roles.KEEPER, query, CALM_S)
                state = opened(answer.state) if answer.state else None
                what = f"service {number} has {key!r} as {shown(state)}, the log as {shown(known.get(key))}"
                assert state == known.get(key), what

    def rows(self, settings: ProjectorSettings) -> Callable[[], dict[str, Event]]:
        """What tells the rows of a projection now."""
        assert settings.row is not None
        columns = Columns(settings.row)
        return lambda: {
            key: columns.loaded(row) for key, row in self._services.stores[settings.name].rows(ROWS).items()
        }

    def compare_rows(self, settings: ProjectorSettings) -> None:
        """The rows are those that the events lead to, and all commands of a reaction were sent."""
        sources = [self._histories[entity] for _, entity in settings.topics if entity is not None]
        of: Any = settings.of()
        if settings.row is None:
            for recorded in (each for its in sources for each in its.recorded):
                for ask in of.react(recorded):
                    self._check_ask(settings, recorded, ask)
            return
        if len(settings.topics) > 1 or not sources:
            return  # the rows may depend on the order in which the topics were read
        rows: dict[str, Event] = {}
        for recorded in sources[0].recorded:
            for key in dict.fromkeys(of.keys(recorded)):
                if (row := of.evolve(key, rows.pop(key, None), recorded)) is not None:
                    rows[key] = row
        stored = self.rows(settings)()
        wrong = next((key for key in rows.keys() | stored.keys() if rows.get(key) != stored.get(key)), None)
        if wrong is not None:
            told = f"{shown(stored.get(wrong))}, and its events lead to {shown(rows.get(wrong))}"
            raise AssertionError(f"the row {wrong!r} of {settings.of.__name__} is {told}")

    def _check_ask(self, settings: ProjectorSettings, recorded: Recorded, ask: Ask) -> None:
        target, topic = self._histories[ask.entity], self._topics[cast("type[Entity]", recorded.source)]
        unique = command_id(settings.name, topic, recorded, ask)
        assert unique in target.made, f"{settings.of.__name__} did not send {shown(ask.command)} to {ask.key!r}"
