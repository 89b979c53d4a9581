"""Commands to a cluster: carried out at most once, by the rules, and the verdict is told."""

import asyncio
from collections.abc import Sequence

import pytest

from callboard import SchemaTooNew
from callboard.board.topology.commands import OPERATOR
from callboard.messages.headers import open_record
from callboard.messages.record import NewRecord
from callboard.messages.topology.cluster_state import AckPolicy
from callboard.messages.topology.control_messages import AdminMessage
from tests.refused import refused
from tests.unit.actors.topology.control_topic import LEASE_MS
from tests.unit.board.topology.cluster import TOPIC, Cluster, Stage, staged


@pytest.mark.proves("T52", "T92")
def test_each_command_is_carried_out_and_its_verdict_told():
    cluster = Cluster("a", "b")
    cluster.settle()

    async def work(stage: Stage) -> None:
        topology = stage.board.topology
        done = await topology.transfer("b", author="ann", reason="a is slow")
        assert (done.accepted, done.command, done.leader) == (True, "transfer the leadership to b", "b")
        assert done.epoch == done.offset
        assert (await topology.drain("b")).leader == "a"
        assert (await topology.drain("b", undo=True)).accepted
        assert (await topology.freeze()).accepted
        assert (await topology.view()).frozen
        assert (await topology.freeze(undo=True)).accepted
        assert (await topology.evict("b")).accepted
        assert [each.instance for each in (await topology.view()).members] == ["a"]
        kinds = [(each.kind, each.author) for each in (await topology.history()).items[4:6]]
        assert kinds == [("transferred", "ann"), ("drained", kinds[1][1])]

    staged(work, cluster)


def test_settings_are_changed_and_the_others_stay():
    async def work(stage: Stage) -> None:
        topology = stage.board.topology
        assert (await topology.configure({"lease_ms": 20_000, "ack_deadline_ms": 20_000})).accepted
        assert (await topology.configure({"ack_policy": "wait"})).command == "configure ack_policy from evict to wait"
        settings = (await topology.view()).settings
        assert (settings["lease_ms"], settings["gap_ms"], settings["ack_policy"]) == (20_000, 5000, "wait")
        longer, other = (await topology.history()).items[-2:]
        assert other.kind == "configured"
        assert "configure lease_ms from 10000 to 20000, ack_deadline_ms from 10000 to 20000" in longer.what
        with refused("invalid") as error:
            await topology.configure({"lease_ms": 600})
        assert "the gap of 5000 ms is more than half the lease of 600 ms" in str(error.value)
        with refused("invalid") as error:
            await topology.configure({"ack_deadline_ms": 10**12})
        assert "the acknowledgement's deadline of 1000000000000 ms is more than 2147483647" in str(error.value)
        with refused("invalid"):
            await topology.configure({"ack_policy": "perhaps"})  # type: ignore[typeddict-item]
        with refused("empty"):
            await topology.configure({"gap_ms": 5000})
        with pytest.raises(TypeError, match="did you mean lease_ms"):
            await topology.configure({"leas_ms": 1})  # type: ignore[typeddict-unknown-key]

    staged(work, Cluster(ack_policy=AckPolicy.EVICT))


def test_what_the_rules_would_refuse_is_refused_without_a_record():
    cluster = Cluster("a", "b")
    cluster.command(drain="b")

    async def work(stage: Stage) -> None:
        topology, end = stage.board.topology, (await stage.log.bounds(TOPIC)).end
        for command, why in (
            (topology.transfer("a"), "a is the leader"),
            (topology.transfer("b"), "b is draining"),
            (topology.drain("b"), "b is draining already"),
            (topology.freeze(undo=True), "the cluster is not frozen"),
        ):
            with refused("declined") as error:
                await command
            assert why in str(error.value)
        assert (await stage.log.bounds(TOPIC)).end == end

    staged(work, cluster)


def test_a_wrong_member_is_named_with_the_one_that_may_be_meant():
    cluster = Cluster("edge-1", "edge-2", "gone")
    cluster.leave("gone")

    async def work(stage: Stage) -> None:
        topology = stage.board.topology
        for name, why in (
            ("egde-1", "the cluster has no member 'egde-1'; did you mean 'edge-1'?"),
            ("zzz", "the cluster has no member 'zzz'; members: edge-1, edge-2"),
            ("gone", "'gone' is no member any more: it left, or was evicted, at offset 5; members: edge-1, edge-2"),
        ):
            for command in (topology.evict, topology.drain, topology.transfer):
                with refused("unknown_name") as error:
                    await command(name)
                assert str(error.value) == why
        with refused("invalid"):
            await topology.evict("a/b")

    staged(work, cluster)


def test_without_a_cluster_commands_are_refused():
    async def work(stage: Stage) -> None:
        topology = stage.board.topology
        for command in (topology.evict("a"), topology.freeze(), topology.configure({"gap_ms": 1}), topology.explain(1)):
            with refused("not_found") as error:
                await command
            assert "start one" in str(error.value)

    staged(work, None)


def test_after_a_record_that_is_too_new_commands_are_not_given():
    cluster = Cluster("a")
    cluster.put_record(NewRecord(payload=b"", headers=(("type", "Novel"), ("version", "9.0"))))

    async def work(stage: Stage) -> None:
        with pytest.raises(SchemaTooNew, match="upgrade callboard here"):
            await stage.board.topology.freeze()

    staged(work, cluster)


def test_a_command_that_is_on_the_log_twice_is_carried_out_once():
    cluster = Cluster("a", "b")

    async def work(stage: Stage) -> None:
        topology = stage.board.topology
        done = await topology.evict("b")
        [record] = await stage.log.read(TOPIC, done.offset, 1)
        copy = NewRecord(payload=record.payload, headers=record.headers)
        await topology.freeze()
        [again] = await stage.log.append(TOPIC, [copy])
        assert (await topology.view()).epoch == done.epoch
        with refused("not_found") as error:
            await topology.explain(again)
        assert "the command is based on offset" in str(error.value)

    staged(work, cluster)


@pytest.mark.proves("T54")
def test_of_two_commands_at_once_one_is_carried_out_and_the_other_told_to_look_again():
    cluster = Cluster("a", "b", "c")

    async def work(stage: Stage) -> None:
        topology, append, both = stage.board.topology, stage.log.append, asyncio.Barrier(2)

        async def together(topic: str, records: Sequence[NewRecord]) -> list[int]:
            await both.wait()
            return await append(topic, records)

        stage.log.append = together  # type: ignore[method-assign]
        done = await asyncio.gather(topology.evict("b"), topology.evict("c"))
        assert sorted(each.accepted is True for each in done) == [False, True]
        [late] = [each for each in done if not each.accepted]
        assert (late.reason, late.accepted) == ("outdated", False)
        assert len((await topology.view()).members) == 2

    staged(work, cluster)


def test_a_verdict_is_known_also_if_the_board_looks_at_the_cluster_meanwhile():
    async def work(stage: Stage) -> None:
        topology, append = stage.board.topology, stage.log.append

        async def looking(topic: str, records: Sequence[NewRecord]) -> list[int]:
            offsets = await append(topic, records)
            assert (await topology.view()).frozen
            return offsets

        stage.log.append = looking  # type: ignore[method-assign]
        assert (await topology.freeze(timeout_s=5)).accepted

    staged(work, Cluster("a"))


def test_a_command_renews_no_lease_not_even_of_a_member_with_the_name_of_operators():
    cluster = Cluster()
    cluster.join(OPERATOR)
    cluster.join("b")
    cluster.passes(3000, "b")

    async def work(stage: Stage) -> None:
        topology = stage.board.topology
        before = (await topology.view()).members[0]
        done = await topology.transfer("b")
        after = (await topology.view()).members[0]
        assert done.accepted
        assert after.lease_left_s <= before.lease_left_s < LEASE_MS / 1000 - 2

    staged(work, cluster)


def test_a_verdict_that_cannot_be_read_in_time_is_not_known():
    async def work(stage: Stage) -> None:
        bounds = await stage.log.bounds(TOPIC)
        read, appended = stage.log.read, asyncio.Event()
        await stage.board.topology.view()

        async def stuck(topic: str, start: int, *more: int) -> list:  # type: ignore[type-arg]
            if start >= bounds.end:
                await appended.wait()
            return await read(topic, start, *more)

        stage.log.read = stuck  # type: ignore[method-assign, assignment]
        done = await stage.board.topology.freeze(timeout_s=0.05)
        assert (done.accepted, done.offset) == (None, bounds.end)
        assert "not known yet" in done.detail

    staged(work, Cluster("a"))


@pytest.mark.proves("T92")
def test_a_command_has_its_author_reason_and_a_key_so_that_a_retry_does_nothing():
    async def work(stage: Stage) -> None:
        done = await stage.board.topology.drain("a", author="ann", reason="repairs")
        [record] = await stage.log.read(TOPIC, done.offset, 1)
        said = open_record(record, AdminMessage)
        assert (said.author, said.reason, said.instance, said.base) == ("ann", "repairs", OPERATOR, 2)
        again = NewRecord(payload=record.payload, headers=record.headers, key=said.incarnation)
        assert await stage.log.append(TOPIC, [again]) == [done.offset]

    staged(work, Cluster("a"))
