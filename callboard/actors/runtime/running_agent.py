"""The handle on a running agent, which the service holds on its own event loop."""

import asyncio
import itertools
import traceback
from dataclasses import dataclass
from typing import Protocol

from callboard.actors.core.agent import ActorStatus, AgentSpec
from callboard.actors.runtime.frames import MAX_FRAME, Frame, Kind, epoch_and_pid
from callboard.errors import (
    AgentFailed,
    CallboardError,
    ConfigError,
    NotAnswered,
    RepositoryBusy,
    RepositoryOccupied,
    RepositoryUnavailable,
    RequestRefused,
    SchemaTooNew,
    SubscriberTaken,
)
from callboard.logger import get_logger
from callboard.messages.distribution.mailbox import AgentProblem, Problem
from callboard.messages.event import Event
from callboard.messages.question import A, Question, answer_to

ERRORS: dict[Problem, type[CallboardError]] = {
    Problem.SUBSCRIBER_TAKEN: SubscriberTaken,
    Problem.REPOSITORY_BUSY: RepositoryBusy,
    Problem.SCHEMA_TOO_NEW: SchemaTooNew,
    Problem.ACTOR_FAILED: AgentFailed,
    Problem.REPOSITORY_UNAVAILABLE: RepositoryUnavailable,
    Problem.REPOSITORY_OCCUPIED: RepositoryOccupied,
    Problem.MISCONFIGURED: ConfigError,
}

PROBLEM_DRAIN_S = 2.0
"""Time for the other actors to finish after one has reported that the agent cannot continue."""

CRASHES_MAX = 2
"""Crashes at one question before it fails. The first may be due to what the actor did before; the second cannot."""

STOP_GRACE_S = 5.0
"""Time beyond the drain after which a supervisor that has not reported the stop is killed with the rest."""


class Link(Protocol):
    """The service's side of the connection to the gateway."""

    def send(self, frame: Frame) -> None:
        """Pass a frame to the gateway; lost if there is none at the moment."""
        ...

    def kill(self, actor: ActorStatus) -> None:
        """Kill this actor immediately."""
        ...

    async def close(self) -> None:
        """Kill what is left of the agent immediately, and clean up everything."""
        ...


@dataclass(slots=True)
class Asked:
    """A question that waits for its answer."""

    role: str
    event: Event
    answer: asyncio.Future[Event]
    crashes: int = 0


class RunningAgent:
    """Implements ``callboard.actors.core.agent.Agent`` over a link to a gateway, wherever that runs."""

    def __init__(self, spec: AgentSpec) -> None:
        self._name = spec.name
        self._roles = tuple(actor.role for actor in spec.actors)
        self._link: Link
        self._numbers = itertools.count(1)
        self._questions: dict[int, Asked] = {}
        self._up: dict[str, ActorStatus] = {}
        self._problem: CallboardError | None = None
        self._all_stopped = asyncio.Event()
        self._ended = asyncio.Event()
        self._ending: asyncio.Task[None] | None = None
        self.epochs: dict[str, int] = {}

    def attach(self, link: Link) -> None:
        """Connect to the gateway over this link."""
        self._link = link

    # Called by the service.

    async def ask(self, role: str, question: Question[A], timeout_s: float) -> A:
        """See ``Agent.ask``."""
        self._check_role(role)
        if not isinstance(question, Question):
            raise RequestRefused(f"{question!r:.80} is no Question; ask with an event that declares its answer")
        if isinstance(timeout_s, bool) or not isinstance(timeout_s, int | float) or not timeout_s > 0:
            raise RequestRefused(f"timeout_s is {timeout_s!r:.80}, but should be a number of seconds above 0")
        self._refuse_if_ended()
        number = next(self._numbers)
        asked = Asked(role, question, asyncio.get_running_loop().create_future())
        self._questions[number] = asked
        try:
            if role in self._up:
                self._link.send(Frame(Kind.ASK, role, number, event=question))
            async with asyncio.timeout(timeout_s):  # wait_for may swallow a cancellation in Python 3.11
                return answer_to(question, await asked.answer)
        except TimeoutError:
            raise NotAnswered(
                f"actor {role!r} of agent {self._name!r} did not answer {type(question).__name__} within "
                f"{timeout_s:g} s; it may still have taken effect, so ask again with the same id"
            ) from None
        finally:
            del self._questions[number]

    def actors(self) -> tuple[ActorStatus, ...]:
        """See ``Agent.actors``."""
        return tuple(self._up[role] for role in self._roles if role in self._up)

    async def kill(self, role: str) -> None:
        """See ``Agent.kill``. Does nothing if the actor is not up."""
        self._check_role(role)
        actor = self._up.get(role)
        if actor is not None:
            self._link.kill(actor)

    @property
    def has_ended(self) -> bool:
        """See ``Agent.has_ended``."""
        return self._ended.is_set()

    async def ended(self) -> None:
        """See ``Agent.ended``."""
        await self._ended.wait()
        if self._problem is not None:
            raise self._problem

    async def stop(self, drain_s: float) -> None:
        """See ``Agent.stop``."""
        self._begin_ending(drain_s)
        await self._ended.wait()

    # Called for the gateway's frames.

    def receive(self, frame: Frame) -> None:
        """Handle a frame from the link."""
        match frame.kind:
            case Kind.UP:
                self._came_up(frame)
            case Kind.DOWN:
                actor = self._up.get(frame.role)
                if actor is not None and actor.epoch == frame.number:
                    del self._up[frame.role]
            case Kind.ANSWER | Kind.TOO_LARGE | Kind.UNKNOWN:
                self._answered(frame)
            case Kind.PROBLEM:
                assert isinstance(frame.event, AgentProblem)
                if frame.number:
                    self._blame(frame.number, frame.event.reason)
                    return
                self.fail(ERRORS[frame.event.problem](frame.event.reason))
            case Kind.STOPPED:
                self._all_stopped.set()
                self._begin_ending(0)
            case Kind.ASK | Kind.STOP:
                pass  # these go the other way

    def _answered(self, frame: Frame) -> None:
        asked = self._questions.get(frame.number)
        if asked is None or asked.answer.done():
            return
        question = type(asked.event).__name__
        if frame.kind is Kind.TOO_LARGE:
            what = f"the answer of {frame.role} to {question} has more than {MAX_FRAME} bytes"
            asked.answer.set_exception(NotAnswered(f"{what}; ask for fewer at a time"))
        elif frame.kind is Kind.UNKNOWN:
            what = f"{question} or its answer is not declared in the process that got it"
            fix = "declare both at the top of the actor's module, or of one that it imports"
            asked.answer.set_exception(RequestRefused(f"{what}; {fix}", code="unknown_name"))
        elif frame.event is not None:
            asked.answer.set_result(frame.event)

    def link_lost(self) -> bool:
        """The gateway is gone, and every actor with it. True if the agent must be restarted."""
        self._up.clear()
        self._all_stopped.set()
        return self._ending is None

    def link_restored(self) -> None:
        """There is a gateway again."""
        self._all_stopped.clear()

    def fail(self, problem: CallboardError) -> None:
        """End the agent for this reason; only the first one counts."""
        if self._problem is None and not self._ended.is_set():
            self._problem = problem
        self._begin_ending(PROBLEM_DRAIN_S)

    def _came_up(self, frame: Frame) -> None:
        epoch, pid = epoch_and_pid(frame)
        self._up[frame.role] = ActorStatus(frame.role, epoch, pid)
        self.epochs[frame.role] = epoch
        # The predecessor may have died with these questions unanswered, or was never up to be asked. A question at
        # which it crashed comes last, so that the others are answered before it can crash its successor.
        for number, asked in sorted(self._questions.items(), key=lambda item: item[1].crashes):
            if asked.role == frame.role and not asked.answer.done():
                self._link.send(Frame(Kind.ASK, asked.role, number, event=asked.event))

    def _blame(self, number: int, reason: str) -> None:
        """An actor crashed at this question."""
        asked = self._questions.get(number)
        if asked is None or asked.answer.done():
            return
        asked.crashes += 1
        if asked.crashes == CRASHES_MAX:
            asked.answer.set_exception(
                RequestRefused(
                    f"actor {asked.role!r} of agent {self._name!r} {reason} twice on {type(asked.event).__name__}, so "
                    "it is not asked again; this is a bug in that actor: see the traceback in the log",
                    code="crashed",
                )
            )

    # Ending.

    def _begin_ending(self, drain_s: float) -> None:
        if self._ending is None:
            self._ending = asyncio.get_running_loop().create_task(self._end(drain_s))

    async def _end(self, drain_s: float) -> None:
        try:
            self._link.send(Frame(Kind.STOP, seconds=drain_s))
            async with asyncio.timeout(drain_s + STOP_GRACE_S):
                await self._all_stopped.wait()
        except TimeoutError:
            pass  # closing the link ends what is left
        finally:
            await self._close_link()
            self._up.clear()
            self._ended.set()
            for asked in self._questions.values():
                if not asked.answer.done():
                    asked.answer.set_exception(self._why())

    async def _close_link(self) -> None:
        try:
            await self._link.close()
        except Exception:  # noqa: BLE001  # the agent has ended all the same, and waiting callers must learn of it
            trace = traceback.format_exc()
            get_logger().error("agent.close_failed", agent=self._name, traceback=trace)

    def _check_role(self, role: str) -> None:
        if role not in self._roles:
            its = ", ".join(self._roles)
            raise RequestRefused(f"agent {self._name!r} has no actor {role!r:.80}; it has {its}", code="unknown_name")

    def _refuse_if_ended(self) -> None:
        if self.has_ended:
            raise self._why()

    def _why(self) -> CallboardError:
        stopped = NotAnswered(f"agent {self._name!r} was stopped before it answered; start it again")
        return self._problem or stopped
