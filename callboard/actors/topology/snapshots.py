"""Starts a fold from a snapshot."""

from callboard.actors.topology.cluster_fold import ClusterFold
from callboard.messages.record import Record
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
