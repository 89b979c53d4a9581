"""A view of the topology is well formed and never changes, except that it stops being current."""

from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callboard.actors.topology.announcements.remote_cluster import RemoteCluster
from callboard.errors import RequestRefused
from tests.unit.board.member.views import alone, instance, remote, view


@pytest.mark.proves("T11")
def test_a_view_has_the_instances_of_all_clusters_the_local_one_first() -> None:
    seen = view("ba*", 1, remote("xy", "r1"), remote("z", "r2"))
    assert [each.instance for each in seen.instances] == list("baxyz")
    assert [each.cluster_id for each in seen.clusters] == ["c", "r1", "r2"]
    assert seen.local_instance.instance == "a"
    assert seen.leader is seen.local_cluster.instances[0]


@pytest.mark.proves("T2")
@pytest.mark.parametrize(
    "wrong",
    [
        {"names": "ab"},
        {"names": "a*b", "traits": {"b": {"is_local": True}}},
        {"names": "a*b", "traits": {"b": {"is_leader": True}}},
        {"names": "a*b", "leader": "x"},
        {"names": "a*ab"},
        {"names": "", "epoch": 3},
    ],
    ids=["no local", "two local", "two leaders", "no leader", "same id", "empty"],
)
def test_a_view_that_is_not_well_formed_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(RequestRefused, match="cluster 'c' has"):
        view(**wrong)


@pytest.mark.proves("T72")
def test_a_remote_cluster_that_overlaps_another_is_left_out() -> None:
    own, first, again = remote("ax", "r1"), remote("yz", "r2"), remote("zq", "r3")
    seen = view("a*b", 1, own, first, again)
    assert [each.cluster_id for each in seen.clusters] == ["c", "r2"]
    assert [each.instance for each in seen.instances] == list("abyz")


@pytest.mark.proves("T8")
def test_two_clusters_with_one_id_are_both_shown() -> None:
    seen = view("a*", 1, remote("b", "c"))
    assert [each.cluster_id for each in seen.clusters] == ["c", "c"]


def test_a_view_that_is_not_current_names_no_leader() -> None:
    seen = view("a*b")
    assert seen.is_current
    seen.validity.ended = True
    assert not seen.is_current
    assert seen.leader is None


NAMES = st.text(alphabet="abcdefgh", min_size=1, max_size=5).map(lambda text: "".join(dict.fromkeys(text)))
REMOTE = st.builds(remote, NAMES, st.sampled_from("rst"))


@pytest.mark.proves("T2", "T11", "T72")
@given(names=NAMES, local=st.data(), others=st.lists(REMOTE, max_size=5))
def test_in_every_view_each_instance_is_in_one_cluster_and_each_cluster_has_one_leader(
    names: str, local: st.DataObject, others: list[RemoteCluster]
) -> None:
    at = local.draw(st.integers(1, len(names)))
    seen = view(names[:at] + "*" + names[at:], 1, *others)
    ids = [each.instance for each in seen.instances]
    assert len(set(ids)) == len(ids)
    assert ids == [each.instance for cluster in seen.clusters for each in cluster.instances]
    assert all(sum(each.is_leader for each in cluster.instances) == 1 for cluster in seen.clusters)
    assert [each.instance for each in seen.instances if getattr(each, "is_local", False)] == [names[at - 1]]
    assert ids[: len(names)] == list(names), "the local cluster is whole, and the first"
    assert set(seen.clusters[1:]) <= set(others), "another one is there as it was announced, or not at all"
    assert seen.find(lambda each: each.instance > "c") == tuple(it for it in seen.instances if it.instance > "c")


@pytest.mark.proves("T14")
def test_before_the_first_agreement_there_is_only_the_own_instance() -> None:
    seen = alone()
    assert [each.instance for each in seen.instances] == ["a"]
    assert seen.epoch == -1
    assert seen.leader is None


@pytest.mark.proves("T15")
def test_instances_are_found_by_any_condition() -> None:
    seen = view("a*bc", traits={"b": {"tags": frozenset({"web"})}})
    assert [each.instance for each in seen.find(lambda each: "web" in each.tags)] == ["b"]

    async def holds(_: object) -> bool:
        return False

    with pytest.raises(RequestRefused, match="but should be a function that is not asynchronous"):
        view("a*").find(holds)  # type: ignore[arg-type]  # the mistake: all would be found
    with pytest.raises(RequestRefused, match="where is None, but should be a function"):
        seen.find(None)  # type: ignore[arg-type]  # the mistake


@pytest.mark.proves("T3")
def test_nothing_in_a_view_can_be_changed() -> None:
    seen = view("a*b")
    with pytest.raises(FrozenInstanceError):
        seen.remote = ()  # type: ignore[misc]  # the mistake
    with pytest.raises(FrozenInstanceError):
        seen.local_instance.is_leader = False  # type: ignore[misc]  # the mistake
    with pytest.raises(TypeError):
        seen.local_instance.properties["x"] = "1"  # type: ignore[index]  # the mistake
    assert instance("a") == instance("a")
