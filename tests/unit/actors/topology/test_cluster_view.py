"""What a service sees of a cluster, and the token that its leader shows."""

from dataclasses import FrozenInstanceError, replace

import pytest

from callboard.actors.topology.cluster_view import ClusterView, view_of
from callboard.backends.fence import Token
from callboard.errors import LogReplaced
from callboard.messages.topology.cluster_state import EMPTY
from tests.unit.actors.topology.control_topic import Topic


def view(topic: Topic, local: tuple[str, str] = ("", "")) -> ClusterView:
    found = view_of(topic.state, "log-1", local)
    assert found is not None
    return found


@pytest.mark.proves("T2", "T84")
def test_a_view_has_the_members_in_their_order_and_exactly_one_leader():
    topic = Topic("c", "a", "b")
    topic.settle()
    seen = view(topic)
    assert [each.instance for each in seen.instances] == ["c", "a", "b"]
    assert [each.instance for each in seen.instances if each.is_leader] == ["c"]
    assert seen.leader == seen.instances[0]
    assert (seen.cluster_id, seen.log_id, seen.epoch) == ("c", "log-1", topic.state.view.epoch)


def test_a_view_names_no_leader_and_no_token_until_it_is_settled():
    topic = Topic("a", "b")
    topic.ack("a")
    assert (view(topic).settled, view(topic).leader, view(topic).token) == (False, None, None)
    topic.ack("b")
    assert view(topic).token == Token("log-1", topic.state.view.leader_epoch)


def test_a_reader_finds_itself_only_in_its_own_incarnation():
    topic = Topic("a", "b")
    assert [each.is_local for each in view(topic, ("b", "b1")).instances] == [False, True]
    own = view(topic, ("b", "b1")).local
    assert own is not None
    assert own.instance == "b"
    assert view(topic, ("b", "b0")).local is None


def test_an_empty_cluster_and_a_stopped_reader_have_no_view():
    topic = Topic("a")
    topic.leave("a")
    assert view_of(topic.state, "log-1") is None
    assert view_of(EMPTY, "log-1") is None
    assert view_of(replace(Topic("a").state, stopped=99), "log-1") is None


@pytest.mark.proves("T3")
def test_a_view_and_what_it_holds_never_change():
    topic = Topic()
    topic.join("a", properties=(("zone", "east"),), tags=("web", "db"), priority=3)
    (one,) = view(topic).instances
    topic.put("a", zone="west")
    assert (one.properties, one.tags, one.priority) == ({"zone": "east"}, {"web", "db"}, 3)
    with pytest.raises(TypeError):
        one.properties["zone"] = "north"  # type: ignore[index]
    with pytest.raises(FrozenInstanceError):
        one.is_leader = False  # type: ignore[misc]
    assert hash(one) == hash(one)
    assert view(topic) == view(topic)


def test_a_view_shows_who_is_silent_suspected_and_draining():
    topic = Topic("a", "b")
    topic.suspect("a", "b")
    topic.command(drain="b")
    topic.passes(3_000, "a")
    a, b = view(topic).instances
    assert (a.silent_ms, b.draining, b.suspected_by) == (0, True, ("a",))
    assert 2_500 <= b.silent_ms <= 3_000


@pytest.mark.proves("T84")
def test_a_later_leader_has_the_higher_token():
    topic = Topic("a", "b")
    topic.settle()
    former = view(topic).token
    topic.leave("a")
    topic.settle()
    latter = view(topic).token
    assert former is not None
    assert latter is not None
    assert former < latter
    assert latter >= former
    assert max(former, latter) == latter


def test_a_new_view_with_the_same_leader_has_the_same_token():
    topic = Topic("a")
    topic.settle()
    former = view(topic).token
    topic.join("b")
    topic.settle()
    assert view(topic).token == former


@pytest.mark.proves("T84")
def test_tokens_of_two_logs_cannot_be_compared():
    one, other = Token("log-1", 7), Token("log-2", 9)
    assert one != other
    for compare in (lambda: one < other, lambda: one >= other, lambda: max(one, other)):
        with pytest.raises(LogReplaced, match="'log-1'"):
            compare()
    with pytest.raises(TypeError):
        assert one < 9  # type: ignore[operator]
