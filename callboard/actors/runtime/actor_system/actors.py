"""The public names of thespian that actors use. Outside this folder nobody imports thespian."""

from thespian.actors import (
    Actor,
    ActorAddress,
    ActorExitRequest,
    ActorSystem,
    ChildActorExited,
    ThespianWatch,
    WakeupMessage,
    WatchMessage,
)

__all__ = [
    "Actor",
    "ActorAddress",
    "ActorExitRequest",
    "ActorSystem",
    "ChildActorExited",
    "ThespianWatch",
    "WakeupMessage",
    "WatchMessage",
]
