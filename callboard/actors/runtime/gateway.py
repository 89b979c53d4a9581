"""The gateway: the actor that connects the service with the actors of its agent."""

import os
import traceback
from typing import Any

from callboard.actors.core.agent import GATEWAY
from callboard.actors.runtime.actor_system.actors import Actor, ActorAddress, WatchMessage
from callboard.actors.runtime.control import AgentStopped, OpenGateway, Route, RouteLost, StopAgent, Up
from callboard.actors.runtime.frames import Frame, Kind, Outlet, up
from callboard.actors.runtime.mail import Mail
from callboard.logger import get_logger
from callboard.messages.distribution.mailbox import AgentProblem


class Gateway(Actor):  # type: ignore[misc]  # thespian is untyped
    """Passes questions in, and answers and the supervisor's news out. It decides nothing."""

    def __init__(self) -> None:
        super().__init__()
        self._outlet: Outlet | None = None
        self._supervisor: ActorAddress | None = None
        self._routes: dict[str, Route] = {}
        self._log: Any = get_logger().bind(role=GATEWAY)

    def receiveMessage(self, msg: Any, sender: ActorAddress) -> Any:  # noqa: N802  # thespian's name
        """Thespian's entry point; the returned watch wakes this process when the service sends a frame."""
        try:
            if isinstance(msg, OpenGateway):
                self._open(msg, sender)
            elif self._outlet is not None:
                self._handle(msg, self._outlet)
        except Exception:  # noqa: BLE001  # it must not reach thespian, which would call again
            self._log.error("gateway.failed", traceback=traceback.format_exc())
        return self._outlet.watch if self._outlet is not None else None

    def address_of(self, role: str) -> ActorAddress | None:
        """The actor's address, if it is up."""
        route = self._routes.get(role)
        return route.address if route is not None else None

    def _open(self, msg: OpenGateway, supervisor: ActorAddress) -> None:
        self._supervisor = supervisor
        self._outlet = msg.outlet
        self._outlet.open(self.myAddress)
        self.send(supervisor, Up(GATEWAY, 0, os.getpid()))

    def _handle(self, msg: Any, outlet: Outlet) -> None:
        match msg:
            case Mail():
                self._read(msg, outlet)
            case Frame():
                self._forward(msg)
            case WatchMessage():
                for frame in outlet.received():
                    if frame.kind is Kind.UNKNOWN:
                        outlet.put(frame)
                    else:
                        self._forward(frame)
            case Route():
                self._routes[msg.role] = msg
                outlet.put(up(msg.role, msg.epoch, msg.pid))
            case RouteLost():
                self._routes.pop(msg.role, None)
                outlet.put(Frame(Kind.DOWN, msg.role, msg.epoch))
            case AgentStopped():
                outlet.put(Frame(Kind.STOPPED))

    def _forward(self, frame: Frame) -> None:
        if frame.kind is Kind.STOP:
            self.send(self._supervisor, StopAgent(frame.seconds))
            return
        route = self._routes.get(frame.role)
        if route is None or frame.event is None:
            # The service asks again when the actor is up.
            self._log.debug("mail.dropped", receiver=frame.role, reason="no route")
            return
        self.send(route.address, Mail(GATEWAY, 0, frame.number, (frame.event,)))

    def _read(self, mail: Mail, outlet: Outlet) -> None:
        route = self._routes.get(mail.role)
        if route is not None and mail.epoch < route.epoch:
            # Its successor is asked again: what that does must not differ from the answer that the service gets.
            self._log.debug("mail.dropped", sender=mail.role, sender_epoch=mail.epoch, reason="stale")
            return
        for event in mail.events:
            if isinstance(event, AgentProblem):
                outlet.put(Frame(Kind.PROBLEM, mail.role, mail.question, event=event))
            elif mail.question:
                outlet.put(Frame(Kind.ANSWER, mail.role, mail.question, event=event))
            else:
                self._log.debug("mail.dropped", sender=mail.role, reason="no question waits for it")
