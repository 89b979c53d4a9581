"""The shell around a decision: the one thespian actor class that runs every actor of callboard."""

import os
import traceback
from asyncio import CancelledError
from datetime import timedelta
from random import Random
from typing import Any

from callboard.actors.core.agent import GATEWAY
from callboard.actors.core.decision import (
    After,
    Decision,
    Done,
    Effect,
    Failed,
    Input,
    Note,
    Origin,
    PeerUp,
    Perform,
    Reply,
    Send,
    Started,
    Stopped,
    Stopping,
    Tick,
    as_mapping,
)
from callboard.actors.runtime.actor_system.actors import Actor, ActorAddress, WakeupMessage, WatchMessage
from callboard.actors.runtime.control import (
    ActorStopped,
    Beat,
    Crashed,
    Hello,
    Route,
    StopActor,
    Up,
)
from callboard.actors.runtime.mail import Mail
from callboard.actors.runtime.outbox import Outbox
from callboard.actors.runtime.site import EffectEnded, EffectRunner
from callboard.actors.runtime.timers import Timers
from callboard.logger import get_logger
from callboard.messages.event import Event

NOBODY = Origin("")

FAULTS = (Exception, SystemExit, CancelledError)
"""What a decision may raise: it ends the actor, and must not end the service, or leave the actor half done."""


class Peer:
    """The last known address of an actor, and the origin of its mail that belongs to no question."""

    __slots__ = ("address", "epoch", "origin")

    def __init__(self, role: str, epoch: int, address: ActorAddress) -> None:
        self.epoch = epoch
        self.address = address
        self.origin = Origin(role)


class Shell(Actor):  # type: ignore[misc]  # thespian is untyped
    """Feeds inputs to one decision, one at a time, and carries out its effects in order.

    Crash-only: an unexpected exception is a bug. It is logged, the actor stops working, and the
    supervisor replaces it. It must not reach thespian, which would call the handler a second time. If it was raised at
    a question of the service, it names the question to the supervisor.
    """

    def __init__(self) -> None:
        super().__init__()
        self._hello: Hello | None = None
        self._decision: Decision | None = None
        self._supervisor: ActorAddress | None = None
        self._runner: EffectRunner | None = None
        self._timers = Timers()
        self._outbox = Outbox()
        self._peers: dict[str, Peer] = {}
        self._origin = NOBODY  # of the input being handled
        self._asked: dict[int, Event] = {}  # unanswered questions of the service
        self._log: Any = get_logger()

    def receiveMessage(self, msg: Any, sender: ActorAddress) -> Any:  # noqa: N802  # thespian's name
        """Thespian's entry point; the returned watch wakes this process when an effect has ended."""
        try:
            if isinstance(msg, Hello):
                self._begin(msg, sender)
            elif self._decision is not None:
                self._handle(msg, sender)
        except FAULTS:  # any of them is a bug, and this is where bugs are caught
            self._crash(traceback.format_exc(), _question(self._origin))
        return self._runner.watch if self._runner is not None else None

    def release(self) -> None:
        """Release everything at once, as the death of a process does."""
        self._decision = None
        if self._runner is not None:
            self._runner.cancel()
            self._runner = None

    def _begin(self, hello: Hello, supervisor: ActorAddress) -> None:
        self._hello = hello
        self._supervisor = supervisor
        role = hello.actor.role
        hello.site.enter(role)
        self._log = get_logger().bind(agent=hello.agent, role=role, epoch=hello.epoch)
        self._peers = {route.role: Peer(route.role, route.epoch, route.address) for route in hello.routes}
        rng = Random(f"{hello.seed}/{role}/{hello.epoch}")  # noqa: S311  # reproducible, not secret
        self._decision = hello.actor.decision(hello.actor.settings, rng)
        self._feed(Started())
        for route in hello.routes:
            if route.role != GATEWAY:
                self._feed(PeerUp(route.role))
        if self._decision is not None:
            self.send(supervisor, Up(role, hello.epoch, os.getpid()))

    def _handle(self, msg: Any, sender: ActorAddress) -> None:
        match msg:
            case Mail():
                self._read(msg, sender)
            case EffectEnded():
                self._effect_ended(msg)
            case WatchMessage():
                for ended in self._runner.ended() if self._runner is not None else ():
                    self._effect_ended(ended)
            case WakeupMessage():
                self._wake()
            case Route():
                self._meet(msg.role, msg.epoch, msg.address)
            case Beat():
                self.send(sender, msg)
            case StopActor():
                self._feed(Stopping())

    # Peers.

    def _read(self, mail: Mail, sender: ActorAddress) -> None:
        role, epoch, question, events = mail
        peer = self._peers.get(role)
        if peer is None or peer.epoch != epoch:
            self._meet(role, epoch, sender)
            peer = self._peers[role]
            if epoch < peer.epoch:
                # Its successor is known already, and the decision has forgotten this one.
                self._log.debug("mail.dropped", sender=role, sender_epoch=epoch, reason="stale")
                return
        origin = Origin(role, question) if question else peer.origin
        for event in events:
            if question and role == GATEWAY:
                self._asked[question] = event
            self._feed(event, origin)

    def _meet(self, role: str, epoch: int, address: ActorAddress) -> None:
        # Mail from a new incarnation may overtake its route; then the mail introduces it.
        known = self._peers.get(role)
        if known is not None and known.epoch >= epoch:
            return
        self._peers[role] = Peer(role, epoch, address)
        if role != GATEWAY:
            self._feed(PeerUp(role))

    # The decision.

    def _feed(self, message: Input, origin: Origin = NOBODY) -> None:
        decision = self._decision
        if decision is None or self._hello is None:
            return
        now = self._hello.site.clock.now()
        self._origin = origin
        for effect in decision.receive(message, origin, now):
            if isinstance(effect, Send):  # most are
                self._mail(effect.role, 0, effect.event)
            else:
                self._carry_out(effect, now.mono_s)
            if self._decision is not decision:
                return  # it has stopped
        if self._outbox:
            self._post()
        self._origin = NOBODY
        if self._timers.changed:
            self._ask_for_wake()

    def _carry_out(self, effect: Effect, now_s: float) -> None:
        match effect:
            case Reply(origin, event):
                self._asked.pop(_question(origin), None)
                self._mail(origin.role, origin.question, event)
            case After(key, seconds):
                self._timers.set(key, seconds, now_s)
            case Perform():
                self._effects().start(effect, _question(self._origin))
            case Note():
                getattr(self._log, effect.level)(effect.event, **as_mapping(effect))
            case Stopped():
                self._post()
                self._stop()
            case _:
                raise TypeError(f"receive returned {effect!r:.80}, which is no effect")

    def _mail(self, role: str, question: int, event: Event) -> None:
        assert self._hello is not None
        if role not in self._hello.roles:
            raise LookupError(f"mail to {role!r}, but the roles are {', '.join(sorted(self._hello.roles))}")
        if role == self._hello.actor.role:
            raise LookupError("mail to itself; call the method, or return After(key, 0)")
        if not isinstance(event, Event):
            raise TypeError(f"mail to {role} is {event!r:.80}, which is no Event")
        self._outbox.put(role, question, event)

    def _post(self) -> None:
        hello, handled = self._hello, self._origin
        assert hello is not None
        for role, question, events in self._outbox.take():
            self._origin = Origin(role, question) if role == GATEWAY else handled  # to blame if it cannot be encoded
            peer = self._peers.get(role)
            if peer is None:
                self._log.debug("mail.dropped", receiver=role, reason="unknown receiver")
            else:
                mail = Mail(hello.actor.role, hello.epoch, question, events)
                self.send(peer.address, hello.site.outgoing(mail))

    def _stop(self) -> None:
        assert self._hello is not None
        self._decision = None
        if self._runner is not None:
            self._runner.close()
            self._runner = None
        self.send(self._supervisor, ActorStopped(self._hello.actor.role, self._hello.epoch))

    def _crash(self, trace: str, question: int) -> None:
        if self._hello is None:
            self._log.error("actor.crashed", traceback=trace)
            return
        reason = trace.rstrip().rpartition("\n")[2]
        self.release()
        role, epoch = self._hello.actor.role, self._hello.epoch
        # First of all, since logging may be what fails.
        self.send(self._supervisor, Crashed(role, epoch, os.getpid(), f"crashed with {reason}", question))
        self._log.error("actor.crashed", reason=reason, traceback=trace)

    # Timers and effects.

    def _wake(self) -> None:
        if self._hello is None:
            return
        for key, deadline_s in self._timers.due(self._hello.site.clock.now().mono_s):
            if self._timers.take(key, deadline_s):
                self._feed(Tick(key))
        self._ask_for_wake()

    def _ask_for_wake(self) -> None:
        if self._decision is None or self._hello is None:
            return
        seconds = self._timers.next_wake(self._hello.site.clock.now().mono_s)
        if seconds is not None:
            self.wakeupAfter(timedelta(seconds=max(seconds, self._hello.site.least_wake_s)))

    def _effects(self) -> EffectRunner:
        assert self._hello is not None
        if self._runner is None:
            me = self.myAddress
            self._runner = self._hello.site.runner(lambda ended: self.send(me, ended))
        return self._runner

    def _effect_ended(self, ended: EffectEnded) -> None:
        if ended.bug:
            self._crash(ended.bug, ended.question or self._carried_by(ended.effect))
        elif ended.error is not None:
            self._feed(Failed(ended.effect, ended.error, ended.trace))
        else:
            self._feed(Done(ended.effect, ended.result))

    def _carried_by(self, effect: Perform) -> int:
        """The question contained in the effect, if any: it may have waited for its turn."""
        names: tuple[str, ...] = effect.__slots__
        parts = [getattr(effect, name) for name in names]
        return next((number for number, asked in self._asked.items() if any(part is asked for part in parts)), 0)


def _question(origin: Origin) -> int:
    """The number of the service's question; 0 for mail from peers."""
    return origin.question if origin.role == GATEWAY else 0
