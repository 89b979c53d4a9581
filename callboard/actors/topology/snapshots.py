"""Starts a fold from a snapshot."""

from collections.abc import Iterable

from callboard.actors.topology.cluster_fold import ClusterFold
from callboard.actors.topology.verdict import Verdict
from callboard.messages.record import Record
from callboard.messages.topology.cluster_state import EMPTY, ClusterState
from callboard.messages.topology.control_messages import SnapshotMessage
from callboard.messages.topology.reading import read


def begun(record: Record, previous: int) -> ClusterFold | None:
    """A fold that begins at this record; None unless it is an accepted snapshot, of a member, right after the record at
    the offset ``previous``.
    """
    if record.header("type") != SnapshotMessage.__name__ or not isinstance(said := read(record), SnapshotMessage):
        return None
    fold = ClusterFold(said.state)
    return fold if said.state.offset == previous and fold.see(record).accepted else None


def resumed(records: Iterable[Record]) -> tuple[ClusterState, list[Verdict]]:
    """The state after all retained records of the topic, and the verdicts since the newest snapshot.

    The snapshot's digest shows damage; that the state is right shows only when other members acknowledge the next view.
    Trimming must keep the last accepted snapshot (``ClusterState.snapshot``) and all later records.
    """
    retained, state = list(records), EMPTY
    for record in reversed(retained):
        if record.header("type") == SnapshotMessage.__name__ and isinstance(said := read(record), SnapshotMessage):
            state = said.state
            break
    folded = ClusterFold(state)
    verdicts = [folded.see(record) for record in retained if record.offset > state.offset]
    return folded.state, verdicts
