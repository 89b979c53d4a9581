"""The supervisor: creates the actors of an agent, replaces those that die, and knows their addresses."""

import os
import signal
import traceback
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from callboard.actors.core.agent import GATEWAY
from callboard.actors.runtime.actor_system.actors import (
    Actor,
    ActorAddress,
    ActorExitRequest,
    ChildActorExited,
    WakeupMessage,
)
from callboard.actors.runtime.control import (
    ActorStopped,
    AgentStopped,
    Beat,
    Crashed,
    Hello,
    OpenGateway,
    Route,
    RouteLost,
    StartAgent,
    StopActor,
    StopAgent,
    Up,
)
from callboard.actors.runtime.gateway import Gateway
from callboard.actors.runtime.mail import Mail
from callboard.actors.runtime.shell import Shell
from callboard.actors.runtime.supervision import (
    AllStopped,
    Announce,
    AskToStop,
    Directive,
    End,
    GiveUp,
    Ping,
    Start,
    Supervision,
    Wait,
    Withdraw,
)
from callboard.logger import get_logger
from callboard.messages.distribution.mailbox import AgentProblem, Problem

PULSE = "pulse"
DRAIN_OVER = "drain over"


@dataclass(slots=True)
class Incarnation:
    """Where an incarnation is: the address it was given, the one it reports, and its process if it has one."""

    created: ActorAddress
    address: ActorAddress
    pid: int


class Supervisor(Actor):  # type: ignore[misc]  # thespian is untyped
    """Carries out what ``Supervision`` decides. The only parent of every other actor of its agent."""

    def __init__(self) -> None:
        super().__init__()
        self._agent: StartAgent
        self._supervision: Supervision
        self._gateway: ActorAddress
        self._incarnations: dict[tuple[str, int], Incarnation] = {}
        self._routes: dict[str, Route] = {}
        self._log: Any = get_logger()

    def receiveMessage(self, msg: Any, sender: ActorAddress) -> None:  # noqa: N802  # thespian's name
        """Thespian's entry point."""
        try:
            if isinstance(msg, StartAgent):
                self._begin(msg)
            else:
                self._carry_out(self._decide(msg, sender, self._now()))
        except Exception:  # noqa: BLE001  # a supervisor with a bug must not continue: its agent ends
            trace = traceback.format_exc()
            self._report(f"the supervisor crashed with {trace.rstrip().rpartition(chr(10))[2]}")
            self.send(self._gateway, AgentStopped())
            self._log.error("supervisor.crashed", traceback=trace)  # last, since logging may be what fails

    def _begin(self, agent: StartAgent) -> None:
        self._agent = agent
        agent.site.enter("supervisor")
        self._log = get_logger().bind(agent=agent.name, role="supervisor")
        self._supervision = Supervision([actor.role for actor in agent.actors], agent.limits, agent.epochs)
        self._gateway = self.createActor(Gateway)
        self.send(self._gateway, OpenGateway(agent.outlet))
        self._pulse_later()

    def _decide(self, msg: Any, sender: ActorAddress, now_s: float) -> Iterable[Directive]:  # noqa: PLR0911
        supervision = self._supervision
        match msg:
            case Up(role, epoch, pid) if role == GATEWAY:
                # Its address can be passed on only now that it has connected, so the others start now.
                self._gateway = sender
                self._routes[GATEWAY] = Route(GATEWAY, epoch, sender, pid)
                return supervision.begin(now_s)
            case Up(role, epoch, pid):
                self._locate(role, epoch, sender, pid)
                return supervision.came_up(role, epoch, now_s)
            case Beat(role, epoch):
                return supervision.beat_heard(role, epoch, now_s)
            case Crashed(role, epoch, pid, reason, question):
                self._locate(role, epoch, sender, pid)
                if question:
                    self._report(reason, question)
                return supervision.crashed(role, epoch, reason, now_s, its_own=not question)
            case ActorStopped(role, epoch):
                return supervision.stopped(role, epoch)
            case ChildActorExited():
                return self._exited(msg.childAddress, now_s)
            case StopAgent(drain_s):
                self.wakeupAfter(timedelta(seconds=drain_s), DRAIN_OVER)
                return supervision.stop()
            case WakeupMessage():
                return self._woken(msg.payload, now_s)
        return ()

    def _woken(self, payload: Any, now_s: float) -> Iterable[Directive]:
        match payload:
            case Start(role, epoch):
                return self._supervision.start_overdue(role, epoch, now_s)
            case Wait(role, _):
                return self._supervision.waited(role, now_s)
            case _ if payload == PULSE:
                self._pulse_later()
                return self._supervision.pulse(now_s)
            case _ if payload == DRAIN_OVER:
                return self._supervision.drain_over()
        return ()

    def _exited(self, address: ActorAddress, now_s: float) -> Iterable[Directive]:
        for (role, epoch), incarnation in list(self._incarnations.items()):
            if address in (incarnation.created, incarnation.address):
                del self._incarnations[role, epoch]
                return self._supervision.exited(role, epoch, "died without reporting why", now_s)
        return ()

    def _carry_out(self, directives: Iterable[Directive]) -> None:
        for directive in directives:
            match directive:
                case Start(role, epoch):
                    self._create(role, epoch)
                    self.wakeupAfter(timedelta(seconds=self._agent.limits.start_deadline_s), directive)
                case Wait(_, seconds):
                    self.wakeupAfter(timedelta(seconds=seconds), directive)
                case End(role, epoch):
                    self._end(role, epoch)
                case Announce(role, epoch):
                    self._announce(role, epoch)
                case Withdraw(role, epoch, reason):
                    self._withdraw(role, epoch, reason)
                case Ping(role, epoch):
                    self.send(self._incarnations[role, epoch].address, Beat(role, epoch))
                case AskToStop(role, epoch):
                    self.send(self._incarnations[role, epoch].address, StopActor())
                case GiveUp(_, reason):
                    self._report(reason)
                case AllStopped():
                    self.send(self._gateway, AgentStopped())

    def _create(self, role: str, epoch: int) -> None:
        agent = self._agent
        spec = next(actor for actor in agent.actors if actor.role == role)
        address = self.createActor(Shell)
        pid = agent.site.pid_of_newest_child(self)
        self._incarnations[role, epoch] = Incarnation(address, address, pid)
        routes = tuple(self._routes.values())
        roles = frozenset((GATEWAY, *(actor.role for actor in agent.actors)))
        self.send(address, Hello(agent.name, spec, epoch, agent.seed, agent.site, roles, routes))

    def _locate(self, role: str, epoch: int, address: ActorAddress, pid: int) -> None:
        # One given up before it reported, and reporting after all, is entered again so that it can be ended.
        incarnation = self._incarnations.setdefault((role, epoch), Incarnation(address, address, pid))
        incarnation.address = address

    def _announce(self, role: str, epoch: int) -> None:
        incarnation = self._incarnations[role, epoch]
        route = Route(role, epoch, incarnation.address, incarnation.pid or os.getpid())
        self._routes[role] = route
        self._log.debug("actor.started", actor=role, actor_epoch=epoch, pid=route.pid)
        self.send(self._gateway, route)
        for (peer, _), other in self._incarnations.items():
            if peer != role:
                self.send(other.address, route)

    def _withdraw(self, role: str, epoch: int, reason: str) -> None:
        if reason:
            self._log.warning("actor.lost", actor=role, actor_epoch=epoch, reason=reason)
        self._routes.pop(role, None)
        self.send(self._gateway, RouteLost(role, epoch))

    def _end(self, role: str, epoch: int) -> None:
        incarnation = self._incarnations.pop((role, epoch), None)
        if incarnation is None:
            return
        if incarnation.pid not in (0, os.getpid()):
            with suppress(ProcessLookupError):
                os.kill(incarnation.pid, signal.SIGKILL)
        else:
            self.send(incarnation.address, ActorExitRequest())

    def _report(self, reason: str, question: int = 0) -> None:
        problem = AgentProblem(problem=Problem.ACTOR_FAILED, reason=reason)
        self.send(self._gateway, Mail("supervisor", 0, question, (problem,)))

    def _pulse_later(self) -> None:
        if self._agent.limits.beat_s:
            self.wakeupAfter(timedelta(seconds=self._agent.limits.beat_s), PULSE)

    def _now(self) -> float:
        return self._agent.site.clock.now().mono_s
