"""Actors: pure decisions, the agents made of them, and the runtime that carries out what they decide.

The public names, for agents and entities of your own; see docs/agents.md and docs/actors.md. callboard's own agents are
made of the same classes. ``Callboard.start`` starts an agent.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # fmt: off
    # isort: off
    from callboard.actors.core.agent import ActorSpec, ActorStatus, Agent, AgentSpec, World
    from callboard.actors.core.backoff import RETRY, Backoff
    from callboard.actors.core.decision import (
        After, Decision, DecisionFactory, Done, Effect, Failed, Input, Moment, Note, Origin, PeerUp, Perform, Reply,
        Send, Started, Stopped, Stopping, Tick, note,
    )
    from callboard.actors.core.effects import Append, EnsureTopic, FindBounds, LogRead, ReadLog, TopicBounds, TrimTopic
    from callboard.actors.core.follower import (
        Delivered, Follower, News, OutOfRange, Positioned, Replaced, StartPolicy, Unavailable, from_end, from_first,
        from_last, from_offset,
    )
    from callboard.actors.entities.entity import Deleted, Entity, Facts
    from callboard.actors.entities.processes.process import Answered, Ask, At, Process, Task
    from callboard.actors.entities.projections.projection import Projection, Reaction, Recorded
    from callboard.messages.declared.declaration import event
    from callboard.messages.declared.proto import proto
    from callboard.messages.declared.records import event_of, record_of
    from callboard.messages.event import Event
    from callboard.messages.headers import RecordHeaders
    from callboard.messages.question import Question
    from callboard.messages.record import NewRecord, Record
    # isort: on
    # fmt: on

__all__ = [
    "RETRY", "ActorSpec", "ActorStatus", "After", "Agent", "AgentSpec", "Answered", "Append", "Ask", "At", "Backoff",
    "Decision", "DecisionFactory", "Deleted", "Delivered", "Done", "Effect", "EnsureTopic", "Entity", "Event",
    "Facts", "Failed", "FindBounds", "Follower", "Input", "LogRead", "Moment", "NewRecord", "News", "Note", "Origin",
    "OutOfRange", "PeerUp", "Perform", "Positioned", "Process", "Projection", "Question", "Reaction", "ReadLog",
    "Record", "RecordHeaders", "Recorded", "Replaced", "Reply", "Send", "StartPolicy", "Started", "Stopped",
    "Stopping", "Task", "Tick", "TopicBounds", "TrimTopic", "Unavailable", "World", "event", "event_of", "from_end",
    "from_first", "from_last", "from_offset", "note", "proto", "record_of",
]  # fmt: skip

_MODULES = {
    "callboard.actors.core.agent": "ActorSpec ActorStatus Agent AgentSpec World",
    "callboard.actors.core.backoff": "RETRY Backoff",
    "callboard.actors.core.decision": (
        "After Decision DecisionFactory Done Effect Failed Input Moment Note Origin PeerUp Perform Reply Send "
        "Started Stopped Stopping Tick note"
    ),
    "callboard.actors.core.effects": "Append EnsureTopic FindBounds LogRead ReadLog TopicBounds TrimTopic",
    "callboard.actors.core.follower": (
        "Delivered Follower News OutOfRange Positioned Replaced StartPolicy Unavailable from_end from_first "
        "from_last from_offset"
    ),
    "callboard.actors.entities.entity": "Deleted Entity Facts",
    "callboard.actors.entities.processes.process": "Answered Ask At Process Task",
    "callboard.actors.entities.projections.projection": "Projection Reaction Recorded",
    "callboard.messages.declared.declaration": "event",
    "callboard.messages.declared.proto": "proto",
    "callboard.messages.declared.records": "event_of record_of",
    "callboard.messages.event": "Event",
    "callboard.messages.headers": "RecordHeaders",
    "callboard.messages.question": "Question",
    "callboard.messages.record": "NewRecord Record",
}


def __getattr__(name: str) -> Any:
    """Import public names at first use: every module of actors imports this package first."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = next(module for module, names in _MODULES.items() if name in names.split())
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
