"""Commands to a cluster: appended to the control topic, and judged there by the same rules as by its members.

A command names the last change that its author knew. So it is carried out at most once, however often its record is
on the log, and never after a change that its author did not know of.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from callboard.actors.topology.reducer import step
from callboard.board.connect.user import current_user
from callboard.board.context import BoardContext
from callboard.board.topology.opening import current
from callboard.board.topology.reading import Reading
from callboard.board.topology.wording import command as words
from callboard.board.topology.wording import named
from callboard.door.limits import ANSWER_S
from callboard.door.names import meant
from callboard.errors import OffsetOutOfRange, RequestRefused, SchemaTooNew, Undecodable
from callboard.messages.event import Event
from callboard.messages.headers import new_record
from callboard.messages.topology.cluster_state import ClusterState
from callboard.messages.topology.control_messages import AdminMessage
from callboard.messages.topology.limits import check_event

OPERATOR = "callboard.operator"
"""The instance in commands from outside the cluster. Their incarnation is the command's id, so it is no member's, and
renews no lease, not even of a member with this id."""

NO_CLUSTER = "no cluster is on this log yet: its first member founds it; start one"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterCommandResult:
    """What became of a command to the cluster.

    ``accepted`` is None if the verdict is not known in time: the command may still take effect. ``reason`` is the code
    of the verdict, ``detail`` says it in words. ``epoch`` and ``leader`` are those after the command.
    """

    command: str
    offset: int
    accepted: bool | None
    reason: str
    detail: str
    epoch: int
    leader: str


async def carry_out(
    board: BoardContext, command: Mapping[str, Event], reason: str = "", author: str = "", timeout_s: float = ANSWER_S
) -> ClusterCommandResult:
    """Append the command if the rules accept it in the present state, and read the verdict on it.

    ``command`` has it under the name of its field of ``AdminMessage``.
    """
    reading = await current(board)
    state = demand_cluster(reading)
    assert reading is not None, "there is a cluster"
    message = AdminMessage(
        instance=OPERATOR, incarnation=board.new_id(), seq=1, base=state.changed, author=author or current_user(),
        reason=reason, **command,  # type: ignore[arg-type]  # one of its commands
    )  # fmt: skip
    _try(state, message)
    own = Reading(reading.log, reading.topic, reading.log_id, reading.first, state)  # others may advance the board's
    now_ns, key = board.now_ns(), message.incarnation
    record = new_record(message, record_id=key, time_ns=now_ns, producer=message.author, key=key)
    [offset] = await board.log.append(reading.topic, [record])
    return await _verdict(own, message, offset, timeout_s)


def demand_cluster(reading: Reading | None) -> ClusterState:
    """The state of the cluster. Raises ``RequestRefused`` without one, and ``SchemaTooNew`` if it cannot be known."""
    if reading is None or (reading.state.settings is None and not reading.unknown):
        raise RequestRefused(NO_CLUSTER, code="not_found")
    if reading.unknown:
        raise RequestRefused(
            f"the control topic {reading.topic} was trimmed and has no snapshot, so the cluster's state is unknown; "
            "restart its members",
            code="undetermined",
        )
    if reading.state.stopped >= 0:
        raise SchemaTooNew(
            f"the record at offset {reading.state.stopped} of {reading.topic} is too new, so the cluster's state is "
            "unknown; upgrade callboard here"
        )
    return reading.state


def demand_member(state: ClusterState, instance: str) -> None:
    """Raise ``RequestRefused`` for an instance that is not a member."""
    members = [member.instance for member in state.members]
    if instance in members:
        return
    left = next((each.offset for each in reversed(state.gone) if each.instance == instance), None)
    if left is not None:
        what, then = f"{instance!r} is no member any more: it left, or was evicted, at offset {left}", ""
    else:
        what, then = f"the cluster has no member {instance!r}", meant(instance, members, "")
    then = then or (f"members: {named(sorted(members))}" if members else "it has no members")
    raise RequestRefused(f"{what}; {then}", code="unknown_name")


def _try(state: ClusterState, message: AdminMessage) -> None:
    """Raise ``RequestRefused`` if the command is invalid, or would be refused in this state."""
    try:
        check_event(message)
    except Undecodable as error:
        raise RequestRefused(f"{error}; choose another value") from None
    _, verdict = step(state, state.offset + 1, state.clock.time_ms, message)
    if not verdict.accepted:
        raise RequestRefused(verdict.detail, code="declined")


async def _verdict(reading: Reading, message: AdminMessage, offset: int, timeout_s: float) -> ClusterCommandResult:
    """The verdict on the record, read back from the log."""
    with suppress(TimeoutError, OffsetOutOfRange):
        async with asyncio.timeout(timeout_s):
            while reading.next <= offset:
                async for each in reading.steps(offset + 1):
                    if each.record.offset == offset:
                        verdict, state = each.verdict, each.after
                        return ClusterCommandResult(
                            command=words(message, each.before.settings), offset=offset, accepted=verdict.accepted,
                            reason=verdict.reason.value, detail=verdict.detail, epoch=state.view.epoch,
                            leader=state.view.leader,
                        )  # fmt: skip
                await reading.log.wait(reading.topic, offset, timeout_s)
    detail = f"the verdict is not known yet; see `callboard topology history` for offset {offset}"
    return ClusterCommandResult(
        command=words(message), offset=offset, accepted=None, reason="", detail=detail, epoch=-1, leader=""
    )
