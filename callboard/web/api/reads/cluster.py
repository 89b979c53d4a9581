"""Questions about the cluster."""

from callboard.board.page import Page
from callboard.board.topology.changes import ClusterChange
from callboard.board.topology.explaining import ViewExplanation
from callboard.board.topology.view import ClusterReport
from callboard.door.limits import OFFSET_MAX
from callboard.web.api.parameters import AFTER, LIMIT, whole
from callboard.web.api.read import Read

CLUSTER = (
    Read("topology_show", "/topology", "The members in their order, the leader, and whether the view is settled.",
         ClusterReport, lambda board: board.topology.view(), (),
         lambda found: found.condition in ("too_new", "unknown")),
    Read("topology_history", "/topology/history", "The newest changes, oldest first; the next page is older.",
         Page[ClusterChange], lambda board, **given: board.topology.history(**given), (AFTER, LIMIT)),
    Read("topology_explain", "/topology/views/{epoch}",
         "Why a view was made, on what evidence, and how it was settled.",
         ViewExplanation, lambda board, **given: board.topology.explain(**given),
         (whole("epoch", "The view.", 0, OFFSET_MAX),)),
)  # fmt: skip
