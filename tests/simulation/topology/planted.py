"""Bugs planted in the fold, each of which the model must find."""

from collections.abc import Callable
from typing import Any

import pytest

from callboard.actors.topology import joining, lease_clock, proposing, reducer, reporting, views
from callboard.actors.topology.verdict import Reason, Refused
from callboard.messages.event import replaced
from callboard.messages.topology.cluster_state import LogClock
from callboard.messages.topology.control_messages import AckMessage, ProposeMessage

Patch = pytest.MonkeyPatch


def evidence_is_not_judged_again(patch: Patch) -> None:
    patch.setattr(proposing, "_is_heard", lambda state, member: None)


def the_deadline_is_not_judged_again(patch: Patch) -> None:
    patch.setattr(proposing, "_has_acked", lambda state, member: None)


def proposals_for_former_views_count(patch: Patch) -> None:
    def propose(state: Any, event: ProposeMessage) -> Any:
        return proposing.propose(state, replaced(event, base_epoch=state.view.epoch))

    patch.setitem(reducer.RULES, ProposeMessage, propose)


def there_is_no_budget(patch: Patch) -> None:
    patch.setattr(proposing, "budget", lambda state, recent: 1000)


def gaps_count_in_full(patch: Patch) -> None:
    patch.setattr(lease_clock, "counted", lambda passed, gap: max(0, passed))


def time_goes_by_whoever_wrote_last(patch: Patch) -> None:
    """Two clocks that differ push it ahead with every turn."""

    def ticked(clock: LogClock, settings: Any, time_ms: int) -> LogClock:
        passed = min(max(0, time_ms - clock.time_ms), settings.gap_ms if settings else 0)
        return LogClock(now_ms=clock.now_ms + passed, time_ms=time_ms)

    patch.setattr(reducer, "ticked", ticked)


def the_token_outlives_the_leader(patch: Patch) -> None:
    right = views.with_members

    def with_members(state: Any, *rest: Any, **more: Any) -> Any:
        after = right(state, *rest, **more)
        kept = state.view.leader_epoch
        return replaced(after, view=replaced(after.view, leader_epoch=kept)) if kept >= 0 else after

    for module in (views, joining):
        patch.setattr(module, "with_members", with_members)


def the_first_always_leads(patch: Patch) -> None:
    right = views.elected
    patch.setattr(views, "elected", lambda members, former: right(members, None))


def members_are_in_the_order_of_their_ids(patch: Patch) -> None:
    """As in the original."""
    right = joining.with_members

    def with_members(state: Any, members: Any, *rest: Any) -> Any:
        return right(state, tuple(sorted(members, key=lambda member: member.instance)), *rest)

    patch.setattr(joining, "with_members", with_members)


def one_acknowledgement_settles_the_view(patch: Patch) -> None:
    def settled(state: Any) -> Any:
        return replaced(state, view=replaced(state.view, settled=state.view.epoch))

    patch.setattr(reporting, "_settled", settled)


def acknowledgements_of_former_views_count(patch: Patch) -> None:
    def ack(state: Any, event: AckMessage) -> Any:
        return reporting.ack(state, replaced(event, epoch=state.view.epoch, state_hash=state.view.state_hash))

    patch.setitem(reducer.RULES, AckMessage, ack)


def repeated_messages_count(patch: Patch) -> None:
    right = reducer._heard

    def heard(state: Any, offset: int, clock: Any, event: Any) -> Any:
        after, refused = right(state, offset, clock, event)
        return after, refused if refused and refused.reason is not Reason.DUPLICATE else None

    patch.setattr(reducer, "_heard", heard)


def the_dead_return(patch: Patch) -> None:
    patch.setattr(joining, "_unfit", lambda state, event: None)


def two_processes_have_one_id(patch: Patch) -> None:
    patch.setattr(joining, "_no_takeover", lambda state, live, event: None)


def former_incarnations_renew(patch: Patch) -> None:
    """A message of a former life of the process is taken for one of its present life."""
    right = reducer._heard

    def heard(state: Any, offset: int, clock: Any, event: Any) -> Any:
        after, refused = right(state, offset, clock, event)
        if isinstance(refused, Refused) and refused.reason is Reason.OTHER_INCARNATION:
            live = state.member(event.instance)
            return right(state, offset, clock, replaced(event, incarnation=live.incarnation, seq=live.seq + 1))
        return after, refused

    patch.setattr(reducer, "_heard", heard)


BUGS: dict[Callable[[Patch], None], str] = {
    evidence_is_not_judged_again: "calm",
    the_deadline_is_not_judged_again: "calm",
    proposals_for_former_views_count: "calm",
    there_is_no_budget: "calm",
    gaps_count_in_full: "jumps of the log's clock, and evictions by command",
    time_goes_by_whoever_wrote_last: "writers whose clocks differ",
    the_token_outlives_the_leader: "calm",
    the_first_always_leads: "calm",
    members_are_in_the_order_of_their_ids: "calm",
    one_acknowledgement_settles_the_view: "calm",
    acknowledgements_of_former_views_count: "calm",
    repeated_messages_count: "calm",
    the_dead_return: "calm",
    two_processes_have_one_id: "calm",
    former_incarnations_renew: "calm",
}
"""Every bug, with the plan that finds it."""
