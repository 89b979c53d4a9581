"""What differs between two views decides what listeners are told; a diff says who came and who went."""

from typing import Any

import pytest

from callboard.board.member.differences import Difference, diff, difference
from callboard.board.member.topology_view import TopologyView
from callboard.errors import RequestRefused
from callboard.messages.topology.cluster_state import Health
from tests.unit.board.member.views import instance, remote, view

RED = {"properties": {"colour": "red"}}
NONE, PROPERTIES, TOPOLOGY = Difference


@pytest.mark.proves("T19", "T85")
@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (view("a*b"), NONE),
        (view("a*b", traits={"b": {"health": Health.BAD, "load_permille": 9, "silent_ms": 5}}), NONE),
        (view("a*b", traits={"b": RED}), PROPERTIES),
        (view("a*b", traits={"b": {"draining": True}}), PROPERTIES),
        (view("a*b", traits={"b": {"suspected_by": ("a",)}}), PROPERTIES),
        (view("a*b", frozen=True), PROPERTIES),
        (view("a*b", 2), TOPOLOGY),
        (view("a*bc"), TOPOLOGY),
        (view("a*c"), TOPOLOGY),
        (view("ba*", leader="a"), TOPOLOGY),
        (view("a*b", leader="b"), TOPOLOGY),
        (view("a*b", traits={"b": {"incarnation": "b2"}}), TOPOLOGY),
        (view("a*b", 1, remote("x", "r")), TOPOLOGY),
        (view("a*b", 1, traits={"b": RED}, leader="b"), TOPOLOGY),
    ],
    ids=["same", "status", "property", "draining", "suspected", "frozen", "epoch", "joined", "replaced", "reordered",
         "leader", "restarted", "remote", "leader and property"],
)  # fmt: skip
def test_views_differ_in_topology_in_properties_or_not(other: TopologyView, expected: Difference) -> None:
    base = view("a*b")
    assert difference(base, other) is difference(other, base) is expected


@pytest.mark.parametrize(
    ("theirs", "expected"),
    [
        (remote("xy", "r"), NONE),
        (remote("xy", "r", traits={"y": RED}), PROPERTIES),
        (remote("xy", "r", leader="y"), TOPOLOGY),
        (remote("yx", "r", leader="x"), TOPOLOGY),
        (remote("xy", "r2"), TOPOLOGY),
        (remote("x", "r"), TOPOLOGY),
    ],
)
def test_remote_clusters_count_too(theirs: Any, expected: Difference) -> None:
    assert difference(view("a*", 1, remote("xy", "r")), view("a*", 1, theirs)) is expected


def names(found: tuple[Any, ...]) -> str:
    return "".join(each.instance for each in found)


@pytest.mark.proves("T38")
def test_a_diff_tells_who_came_who_went_and_who_stayed() -> None:
    old, new = view("a*bc"), view("a*cd", 2, traits={"c": RED})
    found = diff(old, new)
    assert (names(found.added()), names(found.removed()), names(found.retained())) == ("d", "b", "ac")
    assert sorted(names(found.all())) == sorted(names(found.all(new=False))) == list("abcd")
    assert names(found.retained(changed=True)) == "c"
    assert names(found.retained(changed=False)) == "a"
    assert found.retained(changed=True)[0].properties == {"colour": "red"}
    assert found.retained(changed=True, new=False)[0].properties == {}
    assert {each.instance: dict(each.properties) for each in found.all()}["c"] == {"colour": "red"}
    assert {each.instance: dict(each.properties) for each in found.all(new=False)}["c"] == {}


@pytest.mark.proves("T38")
def test_a_diff_can_be_narrowed_by_several_conditions_at_once() -> None:
    found = diff(None, view("a*bc", 1, remote("xy", "r")))
    assert names(found.added(is_local=True)) == "a"
    assert names(found.added(is_local=False, cluster="c")) == "bc"
    assert names(found.added(is_leader=True, not_cluster="c")) == "x"
    assert names(found.added(is_leader=False, where=lambda each: each.instance > "b")) == "cy"
    assert names(found.added(where=None)) == "abcxy"


@pytest.mark.proves("T38")
def test_nothing_is_the_same_as_no_instances() -> None:
    assert names(diff(None, None).all()) == names(diff([], None).removed()) == ""
    assert names(diff(view("a*"), None).removed()) == "a"


@pytest.mark.proves("T38")
def test_an_id_that_is_there_twice_is_refused() -> None:
    with pytest.raises(RequestRefused, match="instance a is in the collection twice"):
        diff([instance("a"), instance("a")], None)


@pytest.mark.parametrize("wrong", ["a", 1, ["a"], {"a": 1}, object()])
def test_what_is_neither_a_view_nor_instances_is_refused(wrong: Any) -> None:
    for old, new in ((wrong, None), (None, wrong)):
        with pytest.raises(RequestRefused, match=r"is neither a TopologyView|is no instance"):
            diff(old, new)


def test_a_selection_of_the_wrong_type_or_name_is_refused() -> None:
    found: Any = diff(view("a*"), None)
    for which in ({"is_leader": 1}, {"cluster": 1}, {"where": "b"}, {"new": 1}, {"changed": "no"}):
        with pytest.raises(RequestRefused, match=" but should be "):
            found.retained(**which)
    with pytest.raises(TypeError, match="there is no 'is_lead'; did you mean is_leader"):
        found.removed(is_lead=True)
    with pytest.raises(TypeError, match="there is no 'tag'; known here: is_local, is_leader, cluster"):
        found.removed(tag="web")
