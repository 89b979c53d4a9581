"""A thespian system base inside the service's process, on its asyncio loop: no listening socket, no thread.

It gives the actors of this runtime what they use of thespian and nothing else: create, send, wake up, exit.
An actor must not raise from its handler; the shell, the supervisor and the gateway do not.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from callboard.actors.runtime.actor_system.actors import (
    Actor,
    ActorAddress,
    ActorExitRequest,
    ChildActorExited,
    WakeupMessage,
)
from callboard.telemetry.spans import apart

BURST = 64
"""Messages delivered in one turn of the loop, those that these lead to included, before the service's own work runs."""


@dataclass(slots=True)
class Message:
    """A message in transit."""

    sender: str
    receiver: str
    content: Any


@dataclass(slots=True)
class Resident:
    """An actor of this base. It acts as thespian's ``_myRef``: its method names are thespian's."""

    base: "LoopBase"
    name: str
    parent: str
    address: ActorAddress
    instance: Any = None
    children: list[str] = field(default_factory=list)

    def createActor(self, actor_class: type[Actor], *_unused: object) -> ActorAddress:  # noqa: N802
        """Create a child."""
        return self.base.create(actor_class, self.name)

    def actor_send(self, receiver: ActorAddress, content: Any) -> None:
        """Send a message to an actor."""
        self.base.send(self.name, receiver.actorAddressString, content)

    def wakeupAfter(self, period: timedelta, payload: Any) -> None:  # noqa: N802
        """Send the actor a wake-up later."""
        self.base.wake_up_after(self.name, period, payload)


class LoopBase:
    """The mailboxes of one agent. Order of delivery: first in, first out."""

    def __init__(self, loop: asyncio.AbstractEventLoop, name: str) -> None:
        self._loop = loop
        self._context = apart()  # not that of the next sender
        self._name = name
        self._residents: dict[str, Resident] = {}
        self._created = 0
        self._queue: deque[Message] = deque()
        self._turn: asyncio.Handle | None = None
        self._wakeups: dict[str, set[asyncio.TimerHandle]] = {}

    def create(self, actor_class: type[Actor], parent: str = "") -> ActorAddress:
        """Create an actor. ``parent`` is notified when it has ended."""
        self._created += 1
        name = f"{self._name}/{self._created}"
        resident = Resident(self, name, parent, ActorAddress(name))
        resident.instance = actor_class()
        resident.instance._myRef = resident  # noqa: SLF001  # how thespian binds an actor to its base
        self._residents[resident.name] = resident
        if parent:
            self._residents[parent].children.append(resident.name)
        return resident.address

    def instance(self, name: str) -> Any:
        """The actor behind an address."""
        return self._residents[name].instance

    def send(self, sender: str, receiver: str, content: Any) -> None:
        """Put a message into a mailbox. It is dropped if the receiver is gone when its turn comes."""
        self._enqueue(Message(sender, receiver, content))
        if self._turn is None:
            self._turn = self._next_turn(self._take_turn)

    def wake_up_after(self, name: str, period: timedelta, payload: Any) -> asyncio.TimerHandle:
        """Send the actor a ``WakeupMessage`` later, unless it has ended by then."""
        handles = self._wakeups.setdefault(name, set())

        def fire() -> None:
            handles.discard(handle)
            self.send(name, name, WakeupMessage(period, payload))

        handle = self._loop.call_later(period.total_seconds(), fire, context=self._context)
        handles.add(handle)
        return handle

    def kill(self, name: str) -> None:
        """End an actor and its children as ``kill -9`` does: their mailboxes vanish, the parent is notified."""
        resident = self._residents.pop(name, None)
        if resident is None:
            return
        for child in list(resident.children):
            self.kill(child)
        for handle in self._wakeups.pop(name, ()):
            handle.cancel()
        self._forget(name)
        release = getattr(resident.instance, "release", None)
        if release is not None:
            release()
        parent = self._residents.get(resident.parent)
        if parent is not None:
            parent.children.remove(name)
            self.send(name, parent.name, ChildActorExited(resident.address))

    def close(self) -> None:
        """End every actor."""
        for name in [name for name, resident in self._residents.items() if not resident.parent]:
            self.kill(name)
        if self._turn is not None:
            self._turn.cancel()

    # Order of delivery: overridden by a base with another order.

    def _enqueue(self, message: Message) -> None:
        self._queue.append(message)

    def _waiting(self) -> bool:
        return bool(self._queue)

    def _deliver_some(self) -> None:
        queue = self._queue
        for _ in range(BURST):
            if not queue:
                return
            self._deliver(queue.popleft())

    def _forget(self, receiver: str) -> None:
        kept = [message for message in self._queue if message.receiver != receiver]
        self._queue.clear()
        self._queue += kept

    def _next_turn(self, turn: Callable[[], None]) -> asyncio.Handle:
        return self._loop.call_soon(turn, context=self._context)

    def _take_turn(self) -> None:
        self._turn = None
        try:
            self._deliver_some()
        finally:
            if self._turn is None and self._waiting():
                self._turn = self._next_turn(self._take_turn)

    def _deliver(self, message: Message) -> None:
        resident = self._residents.get(message.receiver)
        if resident is None:
            return
        if isinstance(message.content, ActorExitRequest):
            self.kill(resident.name)
        else:
            sender = self._residents.get(message.sender)
            address = sender.address if sender is not None else ActorAddress(message.sender)
            resident.instance.receiveMessage(message.content, address)
