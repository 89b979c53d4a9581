"""The parts of thespian that actors use. No module outside this folder imports thespian."""

from thespian.actors import (
    Actor,
    ActorAddress,
    ActorExitRequest,
    ChildActorExited,
    ThespianWatch,
    WakeupMessage,
    WatchMessage,
)

__all__ = [
    "Actor",
    "ActorAddress",
    "ActorExitRequest",
    "ChildActorExited",
    "ThespianWatch",
    "WakeupMessage",
    "WatchMessage",
    "pid_of_newest_child",
]


def pid_of_newest_child(actor: Actor) -> int:
    """The process of the actor that ``actor`` has just created, where each has one. The new one may never report."""
    return int(actor._myRef._child_procs[-1].childProc.pid)  # noqa: SLF001  # see private_names.py
