"""A view of the topology is well formed and never changes, except that it stops being current."""

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from callboard.errors import RequestRefused
from tests.unit.board.member.views import alone, instance, remote, view


def test_a_view_has_the_instances_of_all_clusters_the_local_one_first() -> None:
    seen = view("ba*", 1, remote("xy", "r1"), remote("z", "r2"))
    assert [each.instance for each in seen.instances] == list("baxyz")
    assert [each.cluster_id for each in seen.clusters] == ["c", "r1", "r2"]
    assert seen.local_instance.instance == "a"
    assert seen.leader is seen.local_cluster.instances[0]


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


def test_a_remote_cluster_that_overlaps_another_is_left_out() -> None:
    own, first, again = remote("ax", "r1"), remote("yz", "r2"), remote("zq", "r3")
    seen = view("a*b", 1, own, first, again)
    assert [each.cluster_id for each in seen.clusters] == ["c", "r2"]
    assert [each.instance for each in seen.instances] == list("abyz")


def test_two_clusters_with_one_id_are_both_shown() -> None:
    seen = view("a*", 1, remote("b", "c"))
    assert [each.cluster_id for each in seen.clusters] == ["c", "c"]


def test_a_view_that_is_not_current_names_no_leader() -> None:
    seen = view("a*b")
    assert seen.is_current
    seen.validity.ended = True
    assert not seen.is_current
    assert seen.leader is None


def test_before_the_first_agreement_there_is_only_the_own_instance() -> None:
    seen = alone()
    assert [each.instance for each in seen.instances] == ["a"]
    assert seen.epoch == -1
    assert seen.leader is None


def test_instances_are_found_by_any_condition() -> None:
    seen = view("a*bc", traits={"b": {"tags": frozenset({"web"})}})
    assert [each.instance for each in seen.find(lambda each: "web" in each.tags)] == ["b"]
    with pytest.raises(RequestRefused, match="where is None, but should be a function"):
        seen.find(None)  # type: ignore[arg-type]  # the mistake


def test_nothing_in_a_view_can_be_changed() -> None:
    seen = view("a*b")
    with pytest.raises(FrozenInstanceError):
        seen.remote = ()  # type: ignore[misc]  # the mistake
    with pytest.raises(FrozenInstanceError):
        seen.local_instance.is_leader = False  # type: ignore[misc]  # the mistake
    with pytest.raises(TypeError):
        seen.local_instance.properties["x"] = "1"  # type: ignore[index]  # the mistake
    assert instance("a") == instance("a")
