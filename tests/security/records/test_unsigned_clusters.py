"""On a board with keys, only signed records count: commands, members and snapshots."""

from callboard.messages.headers import new_record
from callboard.messages.signing import SigningKey
from callboard.messages.topology.control_messages import AdminMessage, EvictCommand, SnapshotMessage
from callboard.messages.topology.state_hash import state_hash
from tests.unit.board.topology.cluster import TOPIC, Cluster, Stage, staged

KEY = SigningKey("board", b"k" * 32)


def test_a_board_signs_its_commands_and_ignores_unsigned_ones():
    cluster = Cluster("a", "b")

    async def work(stage: Stage) -> None:
        topology, changed = stage.board.topology, cluster.state.changed
        forged = AdminMessage(instance="x", incarnation="x1", seq=1, base=changed, evict=EvictCommand(target="a"))
        [offset] = await stage.below.append(TOPIC, [new_record(forged, record_id="x", time_ns=0, producer="x")])
        view = await topology.view()
        assert [each.instance for each in view.members] == ["a", "b"]
        assert view.refused == {"unknown_type": 1}
        assert (await topology.evict("b")).accepted
        assert [each.instance for each in (await topology.view()).members] == ["a"]
        assert [each.offset for each in (await topology.history()).items if each.offset >= offset] == [offset + 1]

    staged(work, cluster, key=KEY)


def test_an_unsigned_snapshot_is_not_read():
    cluster, other = Cluster("a"), Cluster("evil")

    async def work(stage: Stage) -> None:
        forged = SnapshotMessage(
            instance="a", incarnation="a1", seq=9, state=other.state, state_hash=state_hash(other.state)
        )
        await stage.below.append(TOPIC, [new_record(forged, record_id="x", time_ns=0, producer="a")])
        assert [each.instance for each in (await stage.board.topology.view()).members] == ["a"]

    staged(work, cluster, key=KEY)
