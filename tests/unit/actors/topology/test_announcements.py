"""What an instance makes of announcements, and when it exchanges them."""

from typing import Any

import pytest

from callboard.actors.topology.announcements.connector import Connector, Timing
from callboard.actors.topology.announcements.registry import Registry, Source
from callboard.actors.topology.cluster_view import ClusterView, view_of
from callboard.errors import Undecodable
from callboard.messages.event import replaced
from callboard.messages.topology.connector_limits import INSTANCES_MAX, KEEP_MS_MAX, PATH_MAX, check_announcement
from callboard.messages.topology.connector_messages import AnnouncedCluster, AnnouncedInstance, Announcement
from tests.unit.actors.topology.control_topic import Topic

TIMING = Timing(interval_ms=10_000, timeout_ms=30_000, stable_factor=5)


def local() -> ClusterView | None:
    topic = Topic("me", "mate")
    return view_of(topic.state, "log-c", ("me", "me1"))


def cluster(name: str, *instances: str, path: tuple[str, ...] = (), epoch: int = 1, **given: Any) -> AnnouncedCluster:
    members = instances or (f"{name}-1",)
    listed = [AnnouncedInstance(instance=each, incarnation="1", is_leader=each == members[0]) for each in members]
    return AnnouncedCluster(
        cluster_id=name, log_id=f"log-{name}", epoch=epoch, leader_epoch=0, path=path or (members[0],),
        instances=tuple(listed), **given,
    )  # fmt: skip


def said(*clusters: AnnouncedCluster, keep_ms: int = 30_000) -> Announcement:
    return Announcement(keep_ms=keep_ms, clusters=clusters)


def registry(*heard: AnnouncedCluster) -> Registry:
    it = Registry("me", local)
    for each in heard:
        it.hear(Source(each.path[-1], answered=False), said(each), 0)
    return it


def known(it: Registry) -> dict[str, tuple[str, ...]]:
    return {each.cluster_id: each.path for each in it.remote()}


def test_a_cluster_is_known_by_its_shortest_path():
    it = registry(cluster("x", path=("x-1", "a", "b")), cluster("x", path=("x-1", "c")))
    assert known(it) == {"x": ("x-1", "c")}


def test_the_newest_view_of_a_cluster_counts_even_over_a_longer_path():
    it = registry(cluster("x", path=("x-1", "a", "b"), epoch=7), cluster("x", path=("x-1", "c"), epoch=6))
    assert [each.epoch for each in it.remote()] == [7]


@pytest.mark.proves("T72")
def test_a_cluster_that_shares_an_instance_with_the_local_one_is_left_out_whole():
    assert known(registry(cluster("x", "x-1", "mate"), cluster("y"))) == {"y": ("y-1",)}


@pytest.mark.proves("T72")
def test_of_two_clusters_that_share_an_instance_the_nearer_one_is_known():
    it = registry(cluster("x", "x-1", "both", path=("x-1", "a")), cluster("y", "y-1", "both"))
    assert known(it) == {"y": ("y-1",)}


@pytest.mark.proves("T72")
def test_members_of_the_own_cluster_that_others_still_list_are_not_remote():
    own = local()
    assert own is not None
    former = replaced(cluster("c", "former", path=("former", "a")), log_id=own.log_id)
    assert known(registry(former)) == {}


@pytest.mark.proves("T8")
def test_a_cluster_with_the_id_of_the_local_one_on_another_log_is_known():
    other = replaced(cluster("c", "twin"), log_id="another")
    assert known(registry(other)) == {"c": ("twin",)}


@pytest.mark.proves("T66")
def test_what_an_instance_passed_on_itself_is_ignored():
    assert known(registry(cluster("x", path=("x-1", "me", "a")))) == {}


def test_a_neighbour_is_not_told_what_it_passed_on():
    it = registry(cluster("x", path=("x-1", "a")), cluster("y"))
    assert [each.cluster_id for each in it.said_to("a") or ()] == ["c", "y"]
    assert [each.path for each in it.said_to("b") or ()] == [("me",), ("y-1", "me"), ("x-1", "a", "me")]


def test_a_chain_that_is_too_long_is_not_passed_on():
    longest = ("x-1", *map(str, range(PATH_MAX - 1)))
    it = registry(cluster("x", path=longest))
    assert known(it) == {"x": longest}
    assert [each.cluster_id for each in it.said_to("b") or ()] == ["c"]


def test_what_is_announced_has_the_limits_of_an_announcement():
    many = [cluster(f"x{i}", *(f"x{i}-{n}" for n in range(900)), path=(f"x{i}-0", "a")) for i in range(15)]
    it = Registry("me", local)
    it.hear(Source("a", answered=False), said(*many), 0)
    clusters = it.said_to("b")
    assert clusters is not None
    check_announcement(said(*clusters), "me")
    assert INSTANCES_MAX - 900 < sum(len(each.instances) for each in clusters) <= INSTANCES_MAX


def test_nothing_is_said_while_this_instance_is_in_no_view():
    assert Registry("me", lambda: None).said_to("a") is None
    assert Registry("stranger", local).said_to("a") is None


@pytest.mark.proves("T65")
def test_an_announcement_expires_with_everything_that_is_known_by_it_alone():
    it = registry(cluster("x", path=("x-1", "a")), cluster("y"))
    it.hear(Source("y-1", answered=False), said(cluster("y")), 20_000)
    assert it.expire(29_999) is False
    assert it.expire(30_000) is True
    assert known(it) == {"y": ("y-1",)}


def test_an_answer_and_a_request_of_the_same_neighbour_end_independently():
    it = registry(cluster("x"))
    it.hear(Source("https://x", answered=True), said(cluster("x")), 10_000)
    assert it.forget(Source("x-1", answered=False)) is True
    assert known(it) == {"x": ("x-1",)}
    assert it.expire(40_000) is True
    assert known(it) == {}


def test_a_remote_cluster_names_no_leader_until_it_is_settled():
    (open_view,) = registry(cluster("x", "x-1", "x-2")).remote()
    (settled,) = registry(cluster("x", "x-1", "x-2", settled=True)).remote()
    assert (open_view.leader, settled.leader) == (None, settled.instances[0])


BAD = {
    "no time to keep it": said(cluster("x"), keep_ms=0),
    "too long a time to keep it": said(cluster("x"), keep_ms=KEEP_MS_MAX + 1),
    "a cluster twice": said(cluster("x"), cluster("x", "x-9", path=("x-9", "x-1"))),
    "an instance twice": said(cluster("x"), cluster("y", "y-1", "x-1", path=("y-1", "x-1"))),
    "a name with markup": said(cluster("x", "x-1", "<script>")),
    "an id of a cluster with a path": said(cluster("../x", "x-1")),
    "a log with a space": said(replaced(cluster("x"), log_id="log 1")),
    "a path that is another's": said(cluster("x", path=("x-1", "b"))),
    "a path that begins elsewhere": said(cluster("x", "x-2", path=("b", "x-1"))),
    "a path with a loop": said(cluster("x", "b", path=("b", "b", "x-1"))),
    "too long a path": said(cluster("x", "b", path=("b", *map(str, range(PATH_MAX - 1)), "x-1"))),
    "a property with a strange name": said(
        replaced(cluster("x"), instances=(
            AnnouncedInstance(instance="x-1", incarnation="1", is_leader=True, properties=(("a/b", "1"),)),
        )),
    ),
    "no members": said(replaced(cluster("x"), instances=())),
    "no leader": said(replaced(cluster("x"), instances=(AnnouncedInstance(instance="x-1", incarnation="1"),))),
    "a leader since later": said(replaced(cluster("x"), leader_epoch=2)),
}  # fmt: skip


@pytest.mark.proves("T95")
@pytest.mark.parametrize("announcement", [pytest.param(each, id=what) for what, each in BAD.items()])
def test_an_impossible_announcement_is_refused(announcement):
    with pytest.raises(Undecodable):
        check_announcement(announcement, "x-1")


def connector(it: Registry) -> Connector:
    return Connector(("https://x", "https://spare"), TIMING, it, lambda: 0.0)


def exchange(it: Connector, now_ms: int, *clusters: AnnouncedCluster, url: str = "https://x") -> int:
    """One exchange; returns how long the connector then waits."""
    request = it.request("x-1", now_ms)
    assert request is not None
    it.answered(url, "x-1", request, said(*clusters), now_ms)
    assert it.due_ms - now_ms <= request.keep_ms - TIMING.timeout_ms + TIMING.interval_ms
    return it.due_ms - now_ms


@pytest.mark.proves("T68")
def test_without_news_exchanges_become_rarer_and_announcements_are_kept_longer():
    it = connector(registry())
    waits, now_ms = [], 0
    for _ in range(9):
        waits.append(exchange(it, now_ms, cluster("x")))
        now_ms += waits[-1]
    assert waits == [10_000] * 6 + [20_000, 20_000, 30_000]
    last = it.request("x-1", now_ms + 10**6)
    assert last is not None
    assert last.keep_ms == 70_000


@pytest.mark.proves("T69")
@pytest.mark.parametrize("news", ["theirs", "ours", "none, but over the spare URL"])
def test_news_and_a_spare_url_make_exchanges_frequent_again(news):
    heard = registry()
    it = connector(heard)
    exchange(it, 0, cluster("x"))
    assert exchange(it, 200_000, cluster("x")) == 50_000
    if news == "ours":
        heard.hear(Source("z-1", answered=False), said(cluster("z")), 200_000)
    if news == "none, but over the spare URL":
        exchange(it, 250_000, cluster("x"), url="https://spare")
        assert exchange(it, 400_000, cluster("x"), url="https://spare") == 10_000
    else:
        assert exchange(it, 250_000, cluster("x", epoch=2 if news == "theirs" else 1)) == 10_000


def test_an_exchange_is_due_at_once_when_the_neighbour_has_not_been_told_the_news():
    heard = registry()
    it = connector(heard)
    exchange(it, 5, cluster("x"))
    it.reconsider()
    assert it.due_ms > 5
    heard.hear(Source("z-1", answered=False), said(cluster("z")), 5)
    it.reconsider()
    assert it.due_ms == 0


def test_after_a_failure_the_next_attempt_is_an_interval_later_and_the_answer_is_kept():
    heard = registry()
    it = connector(heard)
    exchange(it, 0, cluster("x"))
    it.failed("refused", 10_000)
    it.reconsider()
    assert (it.due_ms, it.url, it.problem) == (20_000, "", "refused")
    assert known(heard) == {"x": ("x-1",)}


@pytest.mark.proves("T66")
def test_a_redundant_connector_stands_by_until_what_it_tells_is_known_from_no_one_else():
    heard = registry(cluster("x", path=("x-0",)))
    it = connector(heard)
    assert [exchange(it, 0, cluster("x"))] == [10_000]  # what was new to this connector
    assert (it.stands_by, exchange(it, 10_000, cluster("x")), it.stands_by) == (False, 50_000, True)
    heard.forget(Source("x-0", answered=False))
    it.reconsider()
    assert (it.due_ms, it.stands_by) == (0, False)
    assert (exchange(it, 20_000, cluster("x")), it.stands_by) == (10_000, False)


@pytest.mark.proves("T66")
def test_of_two_instances_that_call_each_other_each_knows_that_one_exchange_is_redundant():
    heard = registry(cluster("x"))
    it = connector(heard)
    exchange(it, 0, cluster("x"))
    assert exchange(it, 10_000, cluster("x")) == 50_000


@pytest.mark.proves("T67")
def test_a_connector_that_is_left_with_no_url_has_nothing_to_call():
    it = connector(registry())
    it.leave("https://x")
    assert it.urls == ("https://spare",)
    it.leave("https://spare")
    assert it.urls == ()


def test_waits_are_shortened_at_random_and_never_longer():
    it = Connector(("https://x",), TIMING, registry(), lambda: 0.99)
    assert 9_000 <= exchange(it, 0, cluster("x")) < 9_100
