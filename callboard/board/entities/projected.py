"""A projection or a reaction, as a service uses it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Generic, NamedTuple, TypeVar, cast

from callboard.actors.core.agent import Agent
from callboard.actors.entities.entity import Entity
from callboard.actors.entities.projections import PROJECTOR, ProjectorSettings
from callboard.actors.entities.projections.table_rows import ROWS, Columns, fold_of
from callboard.backends.fold_stores import open_fold_store
from callboard.board.context import BoardContext
from callboard.door.actors import projections as door
from callboard.door.rules import shown
from callboard.errors import NotAnswered, RequestRefused, TopicMissing
from callboard.messages.entities.entity_mail import FoldQuery, FoldRebuild, FoldState
from callboard.messages.event import Event

R = TypeVar("R", bound=Event)

ANSWER_S = 30.0
"""Seconds for an answer."""


class FoldStatus(NamedTuple):
    """How far a projection or a reaction is.

    Attributes:
        name: of the rows, or of the reaction.
        state: ``live``; ``building``, before others see the rows; ``standby``, if another process does the work;
            ``stopped``, with a ``problem``.
        read: the next offset of each topic.
        behind: how many offsets it is behind the end of each topic.
        problem: why it is stopped.
        troubles: what delays it.
        refused: how many commands of a reaction were refused since it started.
    """

    name: str
    state: str
    read: Mapping[str, int]
    behind: Mapping[str, int]
    problem: str
    troubles: tuple[str, ...]
    refused: int


class Reacting:
    """A reaction. Created by ``Callboard.reaction``; it runs from ``start`` until the board is closed."""

    def __init__(self, board: BoardContext, settings: ProjectorSettings, into: str) -> None:
        self._board, self._settings, self._into = board, settings, into

    async def start(self) -> Agent:
        """Start its agent, unless it runs. Any number of processes may run it: one works, the others stand by."""
        return await self._board.agents.projector(self._settings, self._into, self._board.instance)

    async def reached(self, offset: int, of: type[Entity] | str, *, timeout_s: float = ANSWER_S) -> None:
        """Wait until what is on the log up to this offset is in the rows, or was reacted to.

        Args:
            offset: such as that of a ``Committed``.
            of: the class of the entity, or the topic.
            timeout_s: seconds.

        Raises:
            NotAnswered: not within the timeout; the message says how far it is.
            RequestRefused: wrong arguments, or it is stopped, with the code ``stopped``.
        """
        its = door.asked(offset=offset, timeout_s=timeout_s)
        topic = next((topic for topic, entity in self._settings.topics if _is_named(of, topic, entity)), "")
        if not topic:
            what = f"{self._settings.name} has no source {shown(of)}"
            raise RequestRefused(f"{what}; it has {', '.join(topic for topic, _ in self._settings.topics)}")
        try:
            state = await (await self.start()).ask(PROJECTOR, FoldQuery(topic=topic, after=its["offset"]), timeout_s)
        except NotAnswered:
            far = await self._state()
            place = next((each.next for each in far.places if each.topic == topic), 0)
            what = f"{self._settings.name} has not reached offset {offset} of {topic} within {timeout_s:g} s"
            troubles = "".join(f"; {each}" for each in far.troubles)
            raise NotAnswered(f"{what}; it has read up to {place - 1}{troubles}") from None
        if state.problem:
            raise RequestRefused(f"{self._settings.name} is stopped: {state.problem}", code="stopped")

    async def status(self) -> FoldStatus:
        """How far it is."""
        state = await self._state()
        read = {topic: 0 for topic, _ in self._settings.topics} | {each.topic: each.next for each in state.places}
        behind = {topic: await self._behind(topic, offset) for topic, offset in read.items()}
        word = "stopped" if state.problem else "standby" if state.standby else "live" if state.is_live else "building"
        return FoldStatus(self._settings.name, word, read, behind, state.problem, state.troubles, state.refused)

    async def _behind(self, topic: str, following: int) -> int:
        try:
            first, end = await self._board.log.bounds(topic)
        except TopicMissing:  # nobody has written to it yet
            return 0
        return max(0, end - max(first, following))

    async def _state(self) -> FoldState:
        return await (await self.start()).ask(PROJECTOR, FoldQuery(), ANSWER_S)


def _is_named(of: object, topic: str, entity: type[Entity] | None) -> bool:
    return of == topic if isinstance(of, str) else of is not None and of is entity


class Projected(Reacting, Generic[R]):
    """A projection. Created by ``Callboard.projection``; it runs from ``start`` until the board is closed.

    Its table can be read by any program, under the name of its row with "_" in place of ".".
    """

    async def get(self, key: str) -> R | None:
        """The row with this key, as others see it now; None if there is none. Raises ``RequestRefused``."""
        its = door.asked(key=key)
        assert self._settings.row is not None
        fold = replace(fold_of(self._settings), shown=True)
        store = open_fold_store(self._into, self._board.settings.base, fold)
        try:
            found = (await store.load({ROWS: (its["key"],)})).rows[ROWS].get(its["key"])
        finally:
            await store.close()
        return None if found is None else cast("R", Columns(self._settings.row).loaded(found))

    async def rebuild(self) -> None:
        """Make the table again from the beginning of the log, beside the present one, which is shown until then."""
        await (await self.start()).ask(PROJECTOR, FoldRebuild(), ANSWER_S)
