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
)
from callboard.messages.entities.entity_messages import DeclaredEvent, EntityCommitMessage

MOVED = DeclaredEvent(name="bank.moved", version=2, payload=b"\x08\x05")
COMMAND = EntityCommand(key="alice", command_id="order-17", command=MOVED)
OUTCOME = EntityOutcome(
    version=4, offset=17, events=(MOVED,), repeated=True, problem="no", code="overdrawn", refused=True
)  # fmt: skip

INSTANCES = [
    MOVED,
    EntityCommitMessage(
        key="alice", commit_id=2**62, previous=7, version=3, command_id="order-17", events=(MOVED,), ended=True
    ),
    COMMAND,
    EntityCommands(commands=(COMMAND,)),
    OUTCOME,
    EntityOutcomes(outcomes=(OUTCOME,)),
    EntityQuery(key="alice", after=17),
    EntityState(state=MOVED, version=4, offset=17, problem="no", code="gap"),
]
