"""Starting from a snapshot instead of the first record."""

from collections.abc import Iterable

from callboard.actors.topology.reducer import fold
from callboard.actors.topology.verdict import Verdict
from callboard.messages.record import Record
from callboard.messages.topology.cluster_state import EMPTY, ClusterState
from callboard.messages.topology.control_messages import SnapshotMessage
from callboard.messages.topology.reading import read


def resumed(records: Iterable[Record]) -> tuple[ClusterState, list[Verdict]]:
    """The state after these records, all that the topic still has, and the verdicts since the newest snapshot.

    The snapshot is intact, but only the next acknowledgement of another member proves that it is true. Before it
    nothing may be removed but what an accepted snapshot (``ClusterState.snapshot``) holds.
    """
    retained, state = list(records), EMPTY
    for record in reversed(retained):
        if record.header("type") == SnapshotMessage.__name__ and isinstance(said := read(record), SnapshotMessage):
            state = said.state
            break
    verdicts = []
    for record in retained:
        if record.offset > state.offset:
            state, verdict = fold(state, record)
            verdicts.append(verdict)
    return state, verdicts
