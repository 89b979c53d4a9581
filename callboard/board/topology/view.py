"""The state of a cluster for operators."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from callboard.actors.topology.joining import silence_ms
from callboard.board.page import AsOf
from callboard.board.topology.reading import Reading
from callboard.board.topology.wording import named, plain
from callboard.messages.topology.cluster_state import ClusterMember, ClusterState

ClusterCondition = Literal["none", "empty", "unsettled", "settled", "degraded", "too_new", "unknown"]
"""The state in one word: no cluster was founded; it has no members; its view is not settled, settled, or settled
without some acknowledgements; a record is too new to read; records are lost that the state depends on.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberReport:
    """A member, in the order of joining. Times are in seconds, as of the last record on the topic.

    ``lease_left_s`` is below 0 when the member may be evicted. ``lag_s`` is how old the oldest record was that it had
    not read when it last renewed, -1 if unknown. ``acknowledged``: it acknowledged the present view.
    """

    instance: str
    incarnation: str
    is_leader: bool
    join_offset: int
    priority: int
    tags: tuple[str, ...]
    properties: Mapping[str, str]
    draining: bool
    suspected_by: tuple[str, ...]
    acknowledged: bool
    lease_left_s: float
    lag_s: float
    health: str
    load_permille: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterReport:
    """A cluster, with its members in their order.

    ``condition`` is one word, see ``ClusterCondition``; ``notes`` say what an operator should know. ``unsettled_s`` is
    how long the view has been waiting for the acknowledgements of ``waiting_for``, on the lease clock; ``barrier_s`` is
    how long the last settled view took, -1 if unknown. ``last_record_s`` is the age of the last record, by this host's
    clock. ``evictions``, ``rejoins`` (of instances that had been members before), ``false_suspicions`` (of members that
    were alive, as far as the log shows it) and ``refused`` (records by reason) count from where this board began to
    read: at a snapshot, or the first record.
    """

    topic: str
    condition: ClusterCondition
    as_of: AsOf
    cluster_id: str = ""
    log_id: str = ""
    epoch: int = -1
    leader: str = ""
    leader_epoch: int = -1
    settled: int = -1
    unsettled_s: float = 0.0
    waiting_for: tuple[str, ...] = ()
    barrier_s: float = -1.0
    frozen: bool = False
    last_record_s: float = -1.0
    settings: Mapping[str, Any]
    members: tuple[MemberReport, ...] = ()
    evictions: int = 0
    rejoins: int = 0
    false_suspicions: int = 0
    refused: Mapping[str, int]
    notes: tuple[str, ...] = ()


def no_cluster(topic: str, now_ns: int) -> ClusterReport:
    """The report for a log without a control topic."""
    return ClusterReport(topic=topic, condition="none", as_of=AsOf(-1, now_ns), settings={}, refused={})


def report(reading: Reading, now_ns: int) -> ClusterReport:
    """The cluster as far as it was read."""
    state, view = reading.state, reading.state.view
    settings, lags_s = state.settings, reading.lags_s()
    unsettled = bool(state.members) and view.settled != view.epoch
    last_s = (now_ns - reading.last_ns) / 1e9 if reading.last_ns >= 0 else -1.0
    return ClusterReport(
        topic=reading.topic,
        condition=_condition(reading, state),
        as_of=AsOf(reading.next, now_ns),
        cluster_id=settings.cluster_id if settings else "",
        log_id=reading.log_id,
        epoch=view.epoch,
        leader=view.leader,
        leader_epoch=view.leader_epoch,
        settled=view.settled,
        unsettled_s=(state.clock.now_ms - view.epoch_ms) / 1e3 if unsettled else 0.0,
        waiting_for=tuple([each.instance for each in state.members if each.acked != view.epoch]),
        barrier_s=reading.barrier_s,
        frozen=state.frozen,
        last_record_s=last_s,
        settings=plain(settings) if settings else {},
        members=tuple([_member(state, member, lags_s.get(member.instance, -1.0)) for member in state.members]),
        evictions=reading.evictions,
        rejoins=reading.rejoins,
        false_suspicions=reading.false_suspicions,
        refused={reason.value: count for reason, count in sorted(reading.refused.items())},
        notes=tuple(_notes(state, last_s)),
    )


def _condition(reading: Reading, state: ClusterState) -> ClusterCondition:
    if state.stopped >= 0:
        return "too_new"
    if reading.unknown:
        return "unknown"
    if state.settings is None:
        return "none"
    if not state.members:
        return "empty"
    if state.view.settled != state.view.epoch:
        return "unsettled"
    return "degraded" if state.view.degraded else "settled"


def _member(state: ClusterState, member: ClusterMember, lag_s: float) -> MemberReport:
    assert state.settings is not None, "only clusters have members"
    return MemberReport(
        instance=member.instance,
        incarnation=member.incarnation,
        is_leader=member.instance == state.view.leader,
        join_offset=member.join_offset,
        priority=member.priority,
        tags=member.tags,
        properties=dict(member.properties),
        draining=member.draining,
        suspected_by=member.suspected_by,
        acknowledged=member.acked == state.view.epoch,
        lease_left_s=(state.settings.lease_ms - silence_ms(state, member)) / 1e3,
        lag_s=lag_s,
        health=member.health.name.lower(),
        load_permille=member.load_permille,
    )


def _notes(state: ClusterState, last_s: float) -> list[str]:
    notes = []
    if state.stopped >= 0:
        notes.append(f"the record at offset {state.stopped} is too new for this version, so what came later is unknown")
    if state.settings and state.members and last_s * 1e3 > state.settings.lease_ms:
        notes.append(
            f"no member has written for {last_s:.0f} s: all may be down, or the log refuses writes. The lease clock "
            "advances only with records, so no one is evicted meanwhile"
        )
    if state.frozen:
        notes.append("the cluster is frozen: no member is evicted, except by command, until `callboard topology freeze "
                     "--undo`")  # fmt: skip
    if suspected := [each.instance for each in state.members if each.suspected_by]:
        notes.append(f"other members cannot reach {named(suspected)}")
    return notes
