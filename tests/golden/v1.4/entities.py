"""What the bytes beside this file stand for: the messages about entities, which version 1.4 added. Written once, never
changed.
"""

from callboard.messages.entities.entity_mail import (
    EntityCommand,
    EntityCommands,
    EntityOutcome,
    EntityOutcomes,
    EntityQuery,
    EntityState,
    FoldQuery,
    FoldRebuild,
    FoldState,
)
from callboard.messages.entities.entity_messages import (
    DeclaredEvent,
    EntityCommitMessage,
    FoldAnnouncementMessage,
    FoldPlace,
)

MOVED = DeclaredEvent(name="bank.moved", version=2, payload=b"\x08\x05")
COMMAND = EntityCommand(
    key="alice", command_id="order-17", command=MOVED, version=3, events=(MOVED,), is_final=True, searched=17,
    traceparent="00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
)  # fmt: skip
OUTCOME = EntityOutcome(
    version=4, offset=17, events=(MOVED,), repeated=True, problem="no", code="overdrawn", refused=True
)  # fmt: skip

PLACE = FoldPlace(topic="board.entity.bank.account", log_id="4c1d", next=18)

INSTANCES = [
    MOVED,
    EntityCommitMessage(
        key="alice", commit_id=2**62, previous=7, version=3, command_id="order-17", events=(MOVED,), ended=True,
        reason="no", code="overdrawn",
    ),
    COMMAND,
    EntityCommands(commands=(COMMAND,)),
    OUTCOME,
    EntityOutcomes(outcomes=(OUTCOME,)),
    EntityQuery(key="alice", after=17),
    EntityState(state=MOVED, version=4, offset=17, problem="no", code="gap"),
    PLACE,
    FoldState(
        places=(PLACE,), problem="no", standby=True, is_live=True, held=4, unreadable=3, active=2, refused=1,
        troubles=("alice: no",),
    ),
    FoldQuery(topic="board.entity.bank.account", after=17),
    FoldRebuild(),
    FoldAnnouncementMessage(
        kind="process", name="bank.transfer", instance="web1", incarnation="5e0d", state="stopped", places=(PLACE,),
        held=4, active=3, unreadable=2, refused=1, problem="no", troubles=("alice: no",), interval_s=15, ended=True,
    ),
]
