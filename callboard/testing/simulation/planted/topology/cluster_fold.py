"""Bugs in the fold over a control topic."""

from typing import Any

from callboard.actors.topology import administration, joining, lease_clock, proposing, reducer, reporting, views
from callboard.actors.topology.verdict import Reason, Refused
from callboard.messages.event import replaced
from callboard.messages.topology.cluster_state import LogClock
from callboard.messages.topology.control_messages import AckMessage, ProposeMessage
from callboard.testing.simulation.planted.patch import Patch


def _nothing(*_: Any) -> None:
    return None


def _former_proposals(rules: Any) -> Any:
    def propose(state: Any, event: ProposeMessage) -> Any:
        return proposing.propose(state, replaced(event, base_epoch=state.view.epoch))

    return {**rules, ProposeMessage: propose}


def _former_acks(rules: Any) -> Any:
    def ack(state: Any, event: AckMessage) -> Any:
        return reporting.ack(state, replaced(event, epoch=state.view.epoch, state_hash=state.view.state_hash))

    return {**rules, AckMessage: ack}


def _by_the_last_writer(_: Any, clock: LogClock, settings: Any, time_ms: int) -> LogClock:
    """Two clocks that differ push it ahead with every turn."""
    passed = min(max(0, time_ms - clock.time_ms), settings.gap_ms if settings else 0)
    return LogClock(now_ms=clock.now_ms + passed, time_ms=time_ms)


def _same_token(right: Any, state: Any, *rest: Any, **more: Any) -> Any:
    after = right(state, *rest, **more)
    kept = state.view.leader_epoch
    return replaced(after, view=replaced(after.view, leader_epoch=kept)) if kept >= 0 else after


def _sorted(right: Any, state: Any, members: Any, *rest: Any, **more: Any) -> Any:
    return right(state, tuple(sorted(members, key=lambda member: member.instance)), *rest, **more)


def _repeated(right: Any, *arguments: Any) -> Any:
    after, refused = right(*arguments)
    return after, refused if refused and refused.reason is not Reason.DUPLICATE else None


def _any_incarnation(right: Any, state: Any, offset: int, clock: Any, event: Any) -> Any:
    """A message of a former life of the process is taken for one of its present life."""
    after, refused = right(state, offset, clock, event)
    if isinstance(refused, Refused) and refused.reason is Reason.OTHER_INCARNATION:
        live = state.member(event.instance)
        return right(state, offset, clock, replaced(event, incarnation=live.incarnation, seq=live.seq + 1))
    return after, refused


def _only_noted(_: Any, state: Any, member: Any, command: Any) -> Any:
    return views.with_member(state, replaced(member, draining=command.draining))


BUGS = (
    Patch("evidence is not judged again", proposing, "_is_heard", _nothing),
    Patch("the deadline is not judged again", proposing, "_has_acked", _nothing),
    Patch("proposals for former views count", reducer, "RULES", _former_proposals),
    Patch("there is no budget", proposing, "budget", lambda *_: 1000),
    Patch("gaps count in full", lease_clock, "counted", lambda _, passed, *__: max(0, passed)),
    Patch("time goes by the last writer", reducer, "ticked", _by_the_last_writer),
    Patch("the token outlives the leader", views, "with_members", _same_token),
    Patch("the first always leads", views, "elected", lambda right, members, _: right(members, None)),
    Patch("members are in the order of their ids", joining, "with_members", _sorted),
    Patch("one acknowledgement settles the view", reporting, "_settled",
          lambda _, state: replaced(state, view=replaced(state.view, settled=state.view.epoch))),
    Patch("acknowledgements of former views count", reducer, "RULES", _former_acks),
    Patch("repeated messages count", reducer, "_heard", _repeated),
    Patch("the dead return", joining, "_unfit", _nothing),
    Patch("two processes have one id", joining, "_no_takeover", _nothing),
    Patch("former incarnations renew", reducer, "_heard", _any_incarnation),
    Patch("a leader that drains goes on leading", administration, "_drained", _only_noted),
)  # fmt: skip
