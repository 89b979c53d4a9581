"""Snapshots, the digest of a state, and records that cannot be read."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from callboard.actors.topology.cluster_fold import ClusterFold
from callboard.actors.topology.reducer import fold
from callboard.actors.topology.snapshots import begun
from callboard.actors.topology.verdict import Reason
from callboard.messages.headers import new_record
from callboard.messages.record import Record
from callboard.messages.topology.cluster_state import EMPTY, ClusterState, Departed
from callboard.messages.topology.control_messages import SnapshotMessage
from callboard.messages.topology.state_hash import state_hash
from tests.tidy.sources import ROOT
from tests.unit.actors.topology.control_topic import LEASE_MS, Topic, resumed


def records(topic: Topic) -> list[Record]:
    return [
        new_record(event, record_id="r", time_ns=0, producer="p").at(offset, time_ms * 1_000_000)
        for offset, time_ms, event in topic.appended
    ]


def busy() -> Topic:
    topic = Topic("a", "b", "c")
    topic.settle()
    topic.put("a", zone="east", name="Ännchen \N{BELL}")
    topic.suspect("a", "b")
    topic.leave("c")
    topic.passes(LEASE_MS, "a")
    topic.propose("a", "b")
    topic.command(drain="a")
    topic.restart("b")
    return topic


def test_a_snapshot_right_after_what_it_holds_is_accepted():
    topic = busy()
    assert topic.snapshot("a").accepted
    assert topic.state.snapshot == topic.state.offset


def test_a_snapshot_with_a_record_in_between_is_refused():
    topic = busy()
    held = topic.state
    topic.renew("a")
    assert topic.snapshot("a", held).reason is Reason.OUTDATED
    assert topic.state.snapshot == -1


def test_a_snapshot_of_another_state_is_refused():
    topic = busy()
    assert topic.snapshot("a", replace(topic.state, frozen=True)).reason is Reason.DIVERGED


def test_a_reader_that_starts_from_a_snapshot_computes_the_same_state():
    topic = busy()
    topic.snapshot("a")
    since = len(topic.appended)
    topic.passes(1_000, "a", "b")
    topic.join("d")
    topic.settle()
    for kept in (records(topic), records(topic)[since - 1 :]):
        state, verdicts = resumed(kept)
        assert state == topic.state
        assert [verdict.offset for verdict in verdicts] == [each.offset for each in kept][-len(verdicts) :]


def test_a_reader_does_not_start_from_a_snapshot_that_was_refused():
    topic = busy()
    held = topic.state
    topic.join("d")
    topic.snapshot("a", held)
    assert begun(records(topic)[-1], topic.state.offset - 1) is None


def test_without_a_snapshot_a_reader_starts_from_the_first_record():
    topic = busy()
    state, verdicts = resumed(records(topic))
    assert state == topic.state
    assert len(verdicts) == len(topic.appended)
    assert resumed([]) == (EMPTY, [])


def test_departed_members_whose_offsets_and_ids_look_alike_are_no_damage():
    topic = Topic("a")
    while topic.state.offset < 18:
        topic.renew("a")
    gone = tuple(Departed(instance=who, incarnation="x", offset=at) for who, at in (("7b", 1), ("b", 17)))
    topic.state = replace(topic.state, gone=gone)
    topic.snapshot("a")
    assert resumed(records(topic)[-1:])[0] == topic.state


def test_a_reader_does_not_start_from_a_damaged_snapshot():
    topic = busy()
    topic.snapshot("a")
    *before, (offset, time_ms, said) = topic.appended
    assert isinstance(said, SnapshotMessage)
    topic.appended = [*before, (offset, time_ms, replace(said, state_hash="0" * 32))]
    last = records(topic)[-1:]
    state, verdicts = resumed(last)
    assert (state.members, verdicts[0].reason) == ((), Reason.UNREADABLE)


def test_a_reader_with_another_state_is_detected_by_its_next_acknowledgement():
    topic, other = busy(), busy()
    other.state = replace(other.state, members=(replace(other.member("a"), properties=()), *other.state.members[1:]))
    for each in (topic, other):
        each.join("d")
    assert topic.order == other.order
    assert topic.ack("b", state_hash=other.state.view.state_hash).reason is Reason.DIVERGED


DIGEST = "ac4b4c14538225cd749b63a60d037e20"
"""Of the state of ``busy``. It must never change: members of all versions compare it."""


def test_the_digest_of_a_state_never_changes():
    assert state_hash(busy().state) == DIGEST


@pytest.mark.parametrize("seed", ["0", "1", "4711"])
def test_the_digest_does_not_depend_on_the_order_of_sets_and_dicts(seed: str):
    code = "from tests.unit.actors.topology.test_snapshots import busy, state_hash; print(state_hash(busy().state))"
    environment = os.environ | {"PYTHONHASHSEED": seed}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == DIGEST


def test_a_field_with_its_default_is_not_in_the_digest():
    """So a version that knows a field more has the same digest, as long as the field is not used."""
    assert state_hash(EMPTY) == state_hash(replace(EMPTY, snapshot=-1))
    assert state_hash(EMPTY) != state_hash(replace(EMPTY, snapshot=1))


def test_a_reader_stops_at_a_newer_major_version():
    topic = Topic("a", "b")
    newer = new_record(topic.appended[-1][2], record_id="r", time_ns=0, producer="p").at(99, 0)
    newer = replace(newer, header_block=newer.header_block.replace(b"\x001.", b"\x002."))
    state, verdict = fold(topic.state, newer)
    assert (verdict.reason, state.stopped) == (Reason.TOO_NEW, 99)
    after, verdict = fold(state, replace(newer, offset=100))
    assert (verdict.reason, after) == (Reason.STOPPED, state)
    fold_in_progress = ClusterFold(topic.state)
    assert fold_in_progress.see(newer).reason is Reason.TOO_NEW
    topic.state = replace(topic.state, offset=100)
    topic.renew("a")
    assert fold_in_progress.step(*topic.appended[-1]).reason is Reason.STOPPED
    assert fold_in_progress.state == state


def test_unknown_types_and_garbage_do_nothing():
    topic = Topic("a")
    kinds = {
        b"type\0FancyMessage\0version\x001.9": Reason.UNKNOWN_TYPE,
        b"type\0RenewMessage\0version\x001.0": Reason.UNREADABLE,
        b"": Reason.UNKNOWN_TYPE,
    }
    for kind, reason in kinds.items():
        record = Record(offset=topic.state.offset + 1, time_ns=0, payload=b"\xff\x00", header_block=kind)
        state, verdict = fold(topic.state, record)
        assert verdict.reason is reason
        assert state.members == topic.state.members


def test_records_that_a_reader_gets_twice_are_applied_once():
    topic = busy()
    state: ClusterState = EMPTY
    for record in records(topic):
        state, _ = fold(state, record)
        again, verdict = fold(state, record)
        assert (again, verdict.reason) == (state, Reason.REPLAYED)
    assert state == topic.state
