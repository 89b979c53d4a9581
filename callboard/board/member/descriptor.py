"""The cluster in the form of Oak's descriptor for its clusters, for those who read that."""

import json

from callboard.messages.topology.cluster_state import ClusterState


def descriptor(state: ClusterState, life: tuple[str, str], cluster_id: str) -> str:
    """The descriptor as JSON; see ``Member.descriptor``."""
    me = state.member(life[0])
    own = me if me is not None and me.life == life else None
    view = state.view
    return json.dumps({
        "seq": view.epoch,
        "final": own is not None and own.acked >= view.epoch,
        "id": state.settings.cluster_id if state.settings else cluster_id,
        "me": own.join_offset if own else None,
        "active": [member.join_offset for member in state.members],
        "deactivating": [gone.offset for gone in state.gone if gone.offset > view.settled],
        "inactive": [gone.offset for gone in state.gone if gone.offset <= view.settled],
    })  # fmt: skip
