"""How many records of a control topic does a member judge in a second, and how long does a snapshot take?

Usage: ``python benchmarks/topology.py [--quick]``, half a minute.
"""

import time
from collections.abc import Callable

from report import Report, quick, rounds

from callboard.actors.topology.cluster_fold import ClusterFold
from callboard.actors.topology.reducer import step
from callboard.actors.topology.snapshots import begun
from callboard.messages.headers import new_record
from callboard.messages.record import Record
from callboard.messages.topology import reading
from callboard.messages.topology import state_hash as digest
from callboard.messages.topology.cluster_state import EMPTY, ClusterSettings, ClusterState
from callboard.messages.topology.control_messages import AdminMessage, JoinMessage, RenewMessage, SnapshotMessage
from callboard.messages.topology.member_event import MemberEvent
from callboard.messages.topology.reading import read
from callboard.messages.topology.state_hash import state_hash

ROUNDS = 5
MS_BETWEEN = 40
"""As 50 members append who renew every two seconds."""

Appended = tuple[int, int, MemberEvent]


def founding(members: int) -> list[MemberEvent]:
    """What makes a cluster of these members, with ten properties each."""
    properties = tuple((f"property-{number}", "a value of some length") for number in range(10))
    found = AdminMessage(instance="ann", incarnation="1", seq=1, base=-1, configure=ClusterSettings(cluster_id="c"))
    joins = [
        JoinMessage(instance=f"host-{number}", incarnation=f"life-{number}", seq=1, properties=properties)
        for number in range(members)
    ]
    return [found, *joins]


def cluster(members: int) -> ClusterState:
    """The state after these have joined."""
    state = EMPTY
    for offset, event in enumerate(founding(members)):
        state, verdict = step(state, offset, offset, event)
        assert verdict.accepted
    return state


def renewals(state: ClusterState, count: int) -> list[Appended]:
    """The next records: each member renews in turn."""
    lives = [member.life for member in state.members]
    start, found = state.offset + 1, list[Appended]()
    for number in range(count):
        instance, incarnation = lives[number % len(lives)]
        said = RenewMessage(instance=instance, incarnation=incarnation, seq=2 + number // len(lives), read_to=number)
        found.append((start + number, start + number * MS_BETWEEN, said))
    return found


def as_records(appended: list[Appended]) -> list[Record]:
    return [
        new_record(event, record_id=f"{offset:032x}", time_ns=0, producer="host").at(offset, time_ms * 1_000_000)
        for offset, time_ms, event in appended
    ]


def per_s(count: int, work: Callable[[], object]) -> float:
    """By the processor's time, because nothing here waits. Nothing is known from an earlier round."""
    for kept in (reading.read, digest._text):  # noqa: SLF001
        kept.cache_clear()
    started = time.process_time()
    work()
    return count / (time.process_time() - started)


def judged(state: ClusterState, appended: list[Appended]) -> ClusterState:
    fold = ClusterFold(state)
    for each in appended:
        fold.step(*each)
    assert fold.state.offset == appended[-1][0]
    return fold.state


def one_by_one(state: ClusterState, appended: list[Appended]) -> ClusterState:
    for each in appended:
        state, _ = step(state, *each)
    return state


def read_and_judged(state: ClusterState, records: list[Record]) -> ClusterState:
    fold = ClusterFold(state)
    for record in records:
        fold.see(record)
    return fold.state


def main(count: int) -> None:
    report = Report("topology")
    for members in (5, 50, 200):
        state = cluster(members)
        appended = renewals(state, count)
        records = as_records(appended[: count // 4])
        figures = rounds(ROUNDS, {
            "judge": lambda state=state, appended=appended: per_s(count, lambda: judged(state, appended)),
            "step": lambda state=state, appended=appended: per_s(count, lambda: one_by_one(state, appended)),
            "read": lambda records=records: per_s(len(records), lambda: [read(record) for record in records]),
            "both": lambda state=state, records=records: per_s(len(records), lambda: read_and_judged(state, records)),
        })  # fmt: skip
        whose = f"renewals of {members} members"
        report.row(f"judge {whose}", figures["judge"], figures["step"], unit="records/s", peer_name="one by one",
                   note="goal 100,000")  # fmt: skip
        report.row(f"read and judge {whose}", figures["both"], figures["read"], unit="records/s", peer_name="reading")
    large = cluster(1000)
    snapshot = SnapshotMessage(
        instance="host-0", incarnation="life-0", seq=2, state=large, state_hash=state_hash(large)
    )
    (record,) = as_records([(large.offset + 1, large.offset + 1, snapshot)])
    figures = rounds(ROUNDS, {
        "digest": lambda: 1000 / per_s(1, lambda: state_hash(large)),
        "resume": lambda: 1000 / per_s(1, lambda: begun(record, large.offset)),
    })  # fmt: skip
    report.row("digest of 1000 members", figures["digest"], unit="ms", note="less is better; once for each view")
    size = f"less is better; a record of {len(record.payload):,} bytes"
    report.row("start from a snapshot of 1000 members", figures["resume"], unit="ms", note=size)
    report.write()


if __name__ == "__main__":
    main(4_000 if quick() else 40_000)
