"""What became of a cluster, as pages, as a stream, and explained."""

import asyncio
from contextlib import aclosing
from pathlib import Path

import pytest

from callboard import LogReplaced
from callboard.backends.log import Retention
from callboard.messages.record import NewRecord
from callboard.messages.topology.cluster_state import AckPolicy
from tests.refused import refused
from tests.unit.actors.topology.control_topic import LEASE_MS
from tests.unit.board.topology.cluster import TOPIC, Cluster, Stage, staged


def eventful() -> Cluster:
    cluster = Cluster()
    cluster.join("a")
    cluster.settle()
    cluster.join("b")
    cluster.settle()
    cluster.join("c")
    cluster.settle()
    cluster.propose("b", "a")  # its lease runs
    cluster.passes(LEASE_MS, "b", "c")
    cluster.propose("c", "a", reason="it is silent")
    cluster.ack("b")
    cluster.command(freeze=True)
    cluster.ack("c")
    cluster.restart("b")
    cluster.leave("c", reason="maintenance")
    cluster.command(drain="b")
    return cluster


@pytest.mark.proves("T49", "T83")
@pytest.mark.parametrize("on_disk", [False, True], ids=["memory", "sqlite"])
def test_history_says_who_came_and_went_and_why_and_who_leads(on_disk: bool, tmp_path: Path):
    cluster = eventful()

    async def work(stage: Stage) -> None:
        found = await stage.board.topology.history()
        assert [(each.kind, each.leader, len(each.members)) for each in found.items] == [
            ("founded", "", 0), ("joined", "a", 1), ("settled", "a", 1), ("joined", "a", 2), ("settled", "a", 2),
            ("joined", "a", 3), ("settled", "a", 3), ("evicted", "b", 2), ("frozen", "b", 2), ("settled", "b", 2),
            ("restarted", "c", 2), ("left", "b", 1), ("drained", "b", 1),
        ]  # fmt: skip
        evicted, left = found.items[7], found.items[11]
        assert evicted.what == (
            "evicted by c: a was silent for 10.0 s, its lease is 10.0 s (it is silent); b leads now"
        )
        assert (evicted.made_view, evicted.leader_changed, evicted.targets, evicted.by) == (True, True, ("a",), "c")
        assert left.what == "c left (maintenance); b leads now"
        assert found.items[12].what == "command of ann: drain b"
        assert (found.items[12].author, found.items[12].made_view) == ("ann", False)
        assert (found.size, found.complete, found.cursor) == (13, True, "")

    staged(work, cluster, tmp_path if on_disk else None)


def test_pages_of_history_are_together_the_whole():
    cluster = eventful()

    async def work(stage: Stage) -> None:
        whole = (await stage.board.topology.history()).items
        page = await stage.board.topology.history(limit=5)
        found = list(page.items)
        cluster.restart("c")
        await stage.write()
        while page.cursor:
            page = await stage.board.topology.history(limit=5, cursor=page.cursor)
            found = [*page.items, *found]
        assert tuple(found) == whole
        with refused("invalid"):
            await stage.board.topology.history(cursor="x")

    staged(work, cluster)


@pytest.mark.proves("T49")
def test_history_of_a_trimmed_topic_says_what_is_gone():
    cluster = Cluster("a", "b")
    cluster.settle()
    cluster.snapshot("a")
    trimmed_to = cluster.state.offset
    cluster.leave("b")

    async def work(stage: Stage) -> None:
        await stage.log.trim(TOPIC, Retention(below_offset=trimmed_to))
        found = await stage.board.topology.history()
        assert [each.kind for each in found.items] == ["left"]
        gone = f"offsets 0 to {trimmed_to - 1} are no longer on the log"
        assert found.missing == f"{gone}, so that changes before offset {trimmed_to} are unknown"
        await stage.log.trim(TOPIC, Retention(below_offset=trimmed_to + 1))
        found = await stage.board.topology.history()
        assert (found.items, found.complete) == ((), False)
        assert "no snapshot is there" in found.missing

    staged(work, cluster)


def test_changes_are_watched_as_they_come_from_before_the_first_member():
    async def work(stage: Stage) -> None:
        cluster, kinds = stage.cluster, list[str]()

        async def watching() -> None:
            async with aclosing(stage.board.topology.watch()) as changes:
                async for change in changes:
                    kinds.append(change.kind)
                    if change.kind == "left":
                        return

        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            group.create_task(watching())
            await asyncio.sleep(0)
            cluster.configure(cluster.settings)
            cluster.join("a")
            cluster.settle()
            cluster.leave("a")
            await stage.write()
        assert kinds == ["founded", "joined", "settled", "left"]

    staged(work, None)


@pytest.mark.proves("T90")
def test_changes_are_watched_from_an_offset():
    cluster = eventful()

    async def work(stage: Stage) -> None:
        whole = (await stage.board.topology.history()).items
        async with asyncio.timeout(60), aclosing(stage.board.topology.watch(whole[7].offset)) as changes:
            found = [await anext(changes) for _ in whole[8:]]
        assert tuple(found) == whole[8:]

    staged(work, cluster)


@pytest.mark.proves("T36", "T93")
def test_an_eviction_is_explained_with_its_evidence_and_what_was_refused_before():
    cluster = eventful()

    async def work(stage: Stage) -> None:
        epoch = (await stage.board.topology.history()).items[7].epoch
        found = await stage.board.topology.explain(epoch)
        assert (found.record, found.change.by, found.outcome) == ("ProposeMessage", "c", "settled")
        [gone] = found.departures
        assert (gone.instance, gone.incarnation) == ("a", "a1")
        assert gone.silent_s >= LEASE_MS / 1000
        assert gone.why == "a was silent for 10.0 s, its lease is 10.0 s"
        assert gone.last is not None
        assert gone.last.type == "AckMessage"
        assert [ack.instance for ack in found.acknowledgements] == ["b", "c"]
        assert (found.waiting_for, found.next_epoch) == ((), -1)
        [refusal] = found.refusals
        assert (refusal.reason, refusal.instance) == ("lease_runs", "b")
        assert refusal.what == "b: proposes to evict a, silent"

    staged(work, cluster)


def test_what_a_former_leader_wrote_is_among_the_refusals_before_the_next_view():
    cluster = Cluster("a", "b")
    former = cluster.state.view.leader_epoch
    cluster.command(transfer="b")
    cluster.lead("a", former)
    cluster.lead("b")
    cluster.join("c")

    async def work(stage: Stage) -> None:
        found = await stage.board.topology.explain(cluster.state.view.epoch)
        [refusal] = found.refusals
        assert (refusal.reason, refusal.what) == ("not_leading", f"a: writes 1 bytes as the leader of epoch {former}")

    staged(work, cluster)


@pytest.mark.proves("T93")
def test_a_view_that_the_next_one_superseded_names_who_had_not_acknowledged_it():
    cluster = eventful()

    async def work(stage: Stage) -> None:
        whole = (await stage.board.topology.history()).items
        found = await stage.board.topology.explain(whole[10].epoch)
        assert (found.outcome, found.next_epoch) == ("superseded", whole[11].epoch)
        assert found.waiting_for == ("c", "b")
        assert found.departures[0].why == "b joined again, as incarnation b2"

    staged(work, cluster)


def test_a_member_that_does_not_acknowledge_is_explained_by_the_deadline():
    cluster = Cluster("a", "b", "c")
    epoch = cluster.state.view.epoch
    cluster.ack("a")
    cluster.passes(10_500, "a", "b", "c")
    cluster.propose_mute("a", "b")

    async def work(stage: Stage) -> None:
        found = await stage.board.topology.explain(cluster.state.view.epoch)
        [gone] = found.departures
        assert gone.why.startswith(f"b had not acknowledged view {epoch} after 10.")
        assert (found.outcome, found.waiting_for, found.barrier_s) == ("waiting", ("a", "c"), -1)

    staged(work, cluster)


def test_a_view_that_settled_without_a_member_is_explained_so():
    cluster = Cluster("a", "b", ack_policy=AckPolicy.PROCEED)
    cluster.ack("a")
    cluster.passes(12_000, "a", "b")

    async def work(stage: Stage) -> None:
        found = await stage.board.topology.explain(cluster.state.view.epoch)
        assert (found.outcome, found.waiting_for) == ("degraded", ("b",))
        assert 9.9 < found.barrier_s < 10.6
        kinds = [each.kind for each in (await stage.board.topology.history()).items]
        assert kinds[-1] == "degraded"

    staged(work, cluster)


def test_what_is_no_view_is_refused_with_the_nearest_views():
    cluster = eventful()

    async def work(stage: Stage) -> None:
        whole = (await stage.board.topology.history()).items
        views = [each.epoch for each in whole if each.made_view]
        explain = stage.board.topology.explain
        with refused("not_found") as error:
            await explain(views[0] + 1)
        assert f"made no view; the nearest views are {views[0]} and {views[1]}" in str(error.value)
        with refused("not_found") as error:
            await explain(views[2] + 4)
        assert "it was refused, because a was silent for" in str(error.value)
        with refused("out_of_range") as error:
            await explain(9999)
        assert "the topic ends at" in str(error.value)
        with refused("invalid"):
            await explain(-1)

    staged(work, cluster)


def test_a_view_before_a_trim_is_refused_as_gone():
    cluster = Cluster("a", "b")
    epoch = cluster.state.view.epoch
    cluster.snapshot("a")
    cluster.leave("b")

    async def work(stage: Stage) -> None:
        await stage.log.trim(TOPIC, Retention(below_offset=epoch + 1))
        with refused("gone") as error:
            await stage.board.topology.explain(epoch)
        assert "are no longer on the log" in str(error.value)

    staged(work, cluster)


def test_a_replaced_topic_ends_the_watch():
    async def work(stage: Stage) -> None:
        async def other(topic: str) -> str:
            return "other"

        async with aclosing(stage.board.topology.watch(-1)) as changes:
            await anext(changes)
            stage.log.identity = other  # type: ignore[method-assign]
            await stage.log.append(TOPIC, [NewRecord(payload=b"")])
            with pytest.raises(LogReplaced, match="after=-1"):
                await anext(changes)

    staged(work, Cluster())
