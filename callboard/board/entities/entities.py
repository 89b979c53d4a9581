"""The entities of one class: sends them commands, and tells their state."""

import asyncio
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar, cast

from callboard.actors.core.agent import Agent
from callboard.actors.entities import roles
from callboard.actors.entities.entity import Entity
from callboard.board.context import BoardContext
from callboard.door.actors import entities as door
from callboard.errors import (
    CallboardError,
    CommandRefused,
    ConfigError,
    LogUnavailable,
    NotAnswered,
    RefusalCode,
    RequestRefused,
    SchemaTooNew,
    Undecodable,
)
from callboard.messages.entities.entity_mail import EntityCommand, EntityCommands, EntityOutcome, EntityQuery, FoldQuery
from callboard.messages.entities.entity_messages import DeclaredEvent
from callboard.messages.entities.sealing import opened, sealed
from callboard.messages.event import Event
from callboard.telemetry.spans import producing

S = TypeVar("S", bound=Entity)

ANSWER_S = 30.0
"""Seconds for a command, including the reading of the topic after the start."""

TOGETHER_MAX = 500
"""Commands in one question."""

QUESTION_BYTES_MAX = 8 << 20
"""Bytes of these: the agent reads other questions in between."""

TROUBLE_S = 0.5
"""Seconds in which an agent says what keeps it from answering."""

SLACK_S = 1.0
"""How much longer a question waits than its commands."""

UNREADABLE: dict[str, type[CallboardError]] = {
    "schema_too_new": SchemaTooNew,
    "state_unknown": Undecodable,
    "gap": LogUnavailable,
    "snapshots": ConfigError,
}

WRONG: dict[str, RefusalCode] = {"overtaken": "overtaken", "too_large": "too_large", "crashed": "crashed"}


@dataclass(frozen=True, slots=True)
class Committed:
    """What a command did: the entity's ``version`` after it, and the ``events``. They are on the log at ``offset``; it
    is -1 if the command changed nothing. If the command was ``repeated``, the version and the offset are those of the
    first time, and the events are not known any more.
    """

    version: int
    offset: int
    events: tuple[Event, ...]
    repeated: bool


@dataclass(frozen=True, slots=True)
class EntityView(Generic[S]):
    """An entity: its ``state`` when everything up to ``offset`` had been read; None if there is none. ``version``
    counts its commits, and those of its deleted predecessors.
    """

    key: str
    state: S | None
    version: int
    offset: int


class Waiting(NamedTuple):
    """A command, and who waits for its outcome."""

    command: EntityCommand
    timeout_s: float
    outcome: "asyncio.Future[EntityOutcome]"


class Entities(Generic[S]):
    """The entities of a class, each with its own key. Created by ``Callboard.entities``; their agent starts with the
    first question.

    Any number of processes may use the same entities: of two that decide at once, one decides again.
    """

    def __init__(self, board: BoardContext, entity: type[S], topic: str) -> None:
        self.entity, self._topic = entity, topic
        self._board = board
        self._waiting: list[Waiting] = []
        self._asking: set[asyncio.Task[None]] = set()

    async def start(self) -> Agent:
        """Start the agent now, rather than with the first question."""
        return await self._board.agents.keeper(self.entity, self._topic, self._board.instance)

    async def send(
        self, key: str, command: Event, *, command_id: str = "", version: int | None = None,
        timeout_s: float = ANSWER_S,
    ) -> Committed:  # fmt: skip
        """Carry out a command on the entity ``key``; return when its events are on the log.

        Args:
            key: names the entity; 1 to 200 printable characters.
            command: a declared event.
            command_id: makes the command safe to repeat: an entity knows its last 100. Default: a new one.
            version: that the entity must have; default: any.
            timeout_s: seconds, 0 to 1e9.

        Raises:
            CommandRefused: the entity refused it; with the code ``conflict``, it has another version.
            RequestRefused: wrong arguments; or, by its code, others committed first again and again (``overtaken``),
                the decision raised another error (``crashed``), or its events are ``too_large``.
            SchemaTooNew, Undecodable: the entity's state is not known, because this process cannot read its events.
            LogUnavailable: the first records of the topic were removed.
            ConfigError: the snapshots cannot be used.
            NotAnswered: the log did not answer in time. The command may still be carried out: repeat it with its id.
        """
        its = door.asked(key=key, command=command, command_id=command_id, version=version, timeout_s=timeout_s)
        return await self._committed(its, command=_sealed(its["command"]))

    async def record(
        self, key: str, events: Sequence[Event], *, version: int, command_id: str = "", timeout_s: float = ANSWER_S
    ) -> Committed:
        """Record events that were decided elsewhere, if the entity still has the version on which they were. Otherwise
        ``CommandRefused`` is raised, with the code ``conflict``: read the entity again, and decide again.

        Takes and raises the same as ``send``.
        """
        its = door.asked(key=key, events=events, command_id=command_id, version=version, timeout_s=timeout_s)
        return await self._committed(its, events=tuple(map(_sealed, its["events"])))

    async def _committed(
        self, its: Mapping[str, Any], command: DeclaredEvent | None = None, events: tuple[DeclaredEvent, ...] = ()
    ) -> Committed:
        version = -1 if its["version"] is None else its["version"]
        command_id = its["command_id"] or self._board.new_id()
        with producing("send", self._topic, {"messaging.message.id": command_id}) as span:
            message = EntityCommand(
                key=its["key"], command_id=command_id, command=command, version=version, events=events,
                traceparent=span.traceparent,
            )  # fmt: skip
            outcome = await self._outcome(message, its["timeout_s"])
            if outcome.problem:
                raise _error(outcome.problem, outcome.code, refused=outcome.refused)
        return Committed(outcome.version, outcome.offset, tuple(map(opened, outcome.events)), outcome.repeated)

    async def get(self, key: str, *, after: int = -1, timeout_s: float = ANSWER_S) -> EntityView[S]:
        """The entity ``key``, with everything that this process has committed, and what others have up to the offset
        ``after``: give it that of a ``Committed`` to see what that did.

        Raises as ``send``.
        """
        its = door.asked(key=key, after=after, timeout_s=timeout_s)
        agent = await self.start()
        query, timeout_s = EntityQuery(key=its["key"], after=its["after"]), its["timeout_s"]
        try:
            answer = await agent.ask(roles.KEEPER, query, timeout_s)
        except NotAnswered:
            far = f"up to offset {query.after} " if query.after >= 0 else ""
            why = f"its topic was not read {far}within {timeout_s:g} s; is the log away, or does it end before?"
            raise NotAnswered(f"the state of {query.key!r} is not known: {why}{await self._trouble()}") from None
        if answer.problem:
            raise _error(answer.problem, answer.code)
        state = cast("S", opened(answer.state)) if answer.state is not None else None
        return EntityView(its["key"], state, answer.version, answer.offset)

    async def _outcome(self, command: EntityCommand, timeout_s: float) -> EntityOutcome:
        """Ask together with all who ask now: a question costs more than a command."""
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[EntityOutcome] = loop.create_future()
        if not self._waiting:
            self._begin(self._ask())
        self._waiting.append(Waiting(command, timeout_s, outcome))
        timer = loop.call_later(timeout_s, _give_up, outcome)  # costs a third of asyncio.timeout
        try:
            return await outcome
        except TimeoutError:
            again = f"it may still be carried out, so repeat it with command_id={command.command_id!r}"
            why = f"{command.key!r} did not answer within {timeout_s:g} s{await self._trouble()}"
            raise NotAnswered(f"{why}; {again}") from None
        finally:
            timer.cancel()

    async def _trouble(self) -> str:
        """What keeps the agent from answering, if it knows that."""
        with suppress(CallboardError, TimeoutError):
            async with asyncio.timeout(TROUBLE_S):
                state = await (await self.start()).ask(roles.KEEPER, FoldQuery(), TROUBLE_S)
                return f" ({state.troubles[0]})" if state.troubles else ""
        return ""

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    async def _ask(self) -> None:
        taken, self._waiting = self._waiting, []
        first, *others = _batches(taken)
        for together in others:
            self._begin(self._ask_together(together))
        await self._ask_together(first)

    async def _ask_together(self, waiting: Sequence[Waiting]) -> None:
        try:
            agent = await self.start()
            question = EntityCommands(commands=tuple(each.command for each in waiting))
            answer = await agent.ask(roles.KEEPER, question, max(each.timeout_s for each in waiting) + SLACK_S)
        except Exception as error:  # noqa: BLE001 - raised by each who waits
            for each in waiting:
                if not each.outcome.done():
                    each.outcome.set_exception(error)
            return
        for each, outcome in zip(waiting, answer.outcomes, strict=True):
            if not each.outcome.done():
                each.outcome.set_result(outcome)


def _give_up(outcome: "asyncio.Future[EntityOutcome]") -> None:
    if not outcome.done():
        outcome.set_exception(TimeoutError())


def _batches(waiting: Sequence[Waiting]) -> Iterator[Sequence[Waiting]]:
    """Parts that one question can hold."""
    begin = nbytes = 0
    for place, each in enumerate(waiting):
        size = sum(len(its.payload) for its in (each.command.command, *each.command.events) if its is not None)
        nbytes += size
        if place - begin == TOGETHER_MAX or (nbytes > QUESTION_BYTES_MAX and place > begin):
            yield waiting[begin:place]
            begin, nbytes = place, size
    yield waiting[begin:]


def _sealed(event: Event) -> DeclaredEvent:
    try:
        return sealed(event)
    except (TypeError, ValueError) as error:
        raise RequestRefused(f"{type(event).__name__} cannot be encoded: {error}; correct its fields") from error


def _error(problem: str, code: str, *, refused: bool = False) -> CallboardError:
    """The error for a problem."""
    if refused:
        return CommandRefused(problem, code=code)
    if code in UNREADABLE:
        return UNREADABLE[code](problem)
    return RequestRefused(problem, code=WRONG[code])
