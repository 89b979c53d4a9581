"""A writer to the control topic that is not a member changes nothing and takes bounded memory."""

from callboard.board.topology.opening import current
from callboard.board.topology.reading import REFUSALS_MAX
from callboard.messages.record import NewRecord
from tests.unit.board.topology.cluster import TOPIC, Cluster, Stage, staged

GARBAGE = 3 * REFUSALS_MAX


def test_thousands_of_records_of_non_members_change_no_cluster_and_only_the_newest_are_remembered():
    cluster = Cluster("a", "b")
    cluster.settle()

    async def work(stage: Stage) -> None:
        for kind in ("AckMessage", "x" * 4000):
            garbage = NewRecord(payload=b"\xff" * 10, headers=(("type", kind),))
            await stage.log.append(TOPIC, [garbage] * GARBAGE)
        found = await stage.board.topology.view()
        assert (found.condition, len(found.members)) == ("settled", 2)
        assert found.refused == {"unreadable": GARBAGE, "unknown_type": GARBAGE}
        reading = await current(stage.board.context)
        assert reading is not None
        assert len(reading.refusals) == REFUSALS_MAX
        assert sum(len(each.what) + len(each.detail) for each in reading.refusals) < 300 * REFUSALS_MAX
        assert (await stage.board.topology.history()).items[-1].kind == "settled"
        assert (await stage.board.topology.freeze()).accepted

    staged(work, cluster)


def test_an_instance_that_joins_repeatedly_has_one_label():
    cluster = Cluster("edge")
    for _ in range(50):
        cluster.restart("edge")

    async def work(stage: Stage) -> None:
        text = await stage.board.metrics()
        labels = [line for line in text.splitlines() if line.startswith("callboard_cluster_member_leader{")]
        assert labels == ['callboard_cluster_member_leader{instance="edge"} 1.0']
        assert cluster.member("edge").incarnation not in text
        assert "callboard_cluster_rejoins_total 50" in text

    staged(work, cluster)
