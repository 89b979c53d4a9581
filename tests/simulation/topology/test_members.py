"""Members in the simulated runtime: virtual time, real actors, and a log that can be cut off."""

from collections.abc import Iterator

import pytest

from callboard.actors.topology.member.roles import PROPOSER, RENEWER, VIEW_KEEPER
from callboard.messages.record import NewRecord
from callboard.messages.topology.control_messages import LeaveMessage, RenewMessage
from callboard.messages.topology.member_event import MemberEvent
from callboard.messages.topology.member_mail import MemberProblem
from callboard.messages.topology.reading import read
from callboard.testing.simulation.topology.cluster import Cluster, Member
from callboard.testing.simulation.topology.service import agreed

EVICTED_WITHIN_S = 10 + 2 + 1
"""A lease, a renewal that shows that it is over, and the reading."""


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with Cluster() as cluster:
        yield cluster


def three(cluster: Cluster, **options: object) -> tuple[Member, Member, Member]:
    a = cluster.start("a", **options)
    cluster.until(lambda: a.leads)
    b = cluster.start("b", **options)
    cluster.until(agreed("a b", a, b))
    c = cluster.start("c", **options)
    cluster.until(agreed("a b c", a, b, c))
    cluster.pass_s(5)
    return a, b, c


def said(cluster: Cluster, member: Member) -> list[MemberEvent]:
    events = [read(record) for record in cluster.records()]
    return [
        event for event in events if isinstance(event, MemberEvent) and event.incarnation == member.settings.incarnation
    ]


# Joining.


@pytest.mark.proves("T5")
def test_a_lone_member_founds_the_cluster_and_leads_it(cluster: Cluster) -> None:
    a = cluster.start("a")

    assert cluster.until(lambda: a.leads) < 1
    assert (a.order, a.news.problem) == ("a", "")


@pytest.mark.proves("T57")
def test_of_members_that_start_at_once_one_founds_the_cluster_and_all_join(cluster: Cluster) -> None:
    members = [cluster.start(name) for name in "abcde"]

    cluster.until(lambda: all(len(member.state.members) == 5 and member.is_settled for member in members))

    assert len({member.order for member in members}) == 1
    assert sum(member.leads for member in members) == 1


def test_members_keep_the_order_in_which_they_joined_and_the_first_leads(cluster: Cluster) -> None:
    a, b, c = three(cluster)
    epoch = a.state.view.epoch

    cluster.pass_s(300)

    assert [member.leads for member in (a, b, c)] == [True, False, False]
    assert {member.state.view.epoch for member in (a, b, c)} == {epoch}


def test_members_say_that_they_have_read_all(cluster: Cluster) -> None:
    three(cluster)
    cluster.pass_s(20)

    renewals = [(record.offset, said) for record in cluster.records() if isinstance(said := read(record), RenewMessage)]
    assert [said.read_to for _, said in renewals[-6:]] == [offset - 1 for offset, _ in renewals[-6:]]


@pytest.mark.proves("T58")
def test_a_member_whose_service_does_not_watch_yet_does_not_join(cluster: Cluster) -> None:
    a = cluster.start("a")
    a.pause()
    cluster.pass_s(20)
    assert not cluster.records()

    a.watch()

    cluster.until(lambda: a.leads)


# Crashes.


def test_a_crashed_leader_is_followed_within_a_lease_and_a_renewal(cluster: Cluster) -> None:
    a, b, c = three(cluster)

    a.crash()

    assert cluster.until(agreed("b c", b, c)) < EVICTED_WITHIN_S
    assert (b.leads, c.leads) == (True, False)


def test_a_member_that_stops_for_half_a_minute_while_it_leads_never_leads_beside_another(cluster: Cluster) -> None:
    a, b, c = three(cluster)

    a.suspend(30)
    led_for_s = cluster.until(lambda: not a.leads)
    cluster.until(lambda: b.leads)
    cluster.pass_s(40)

    assert led_for_s < 10 * 0.7 + 0.1
    assert a.news.problem == MemberProblem.EVICTED
    assert (a.leads, b.leads, c.leads) == (False, True, False)


def test_a_member_whose_service_shows_no_pulse_is_evicted(cluster: Cluster) -> None:
    a, b, c = three(cluster)

    a.pause()

    assert cluster.until(agreed("b c", b, c)) < 5 + EVICTED_WITHIN_S
    assert b.leads


@pytest.mark.proves("T89")
def test_a_member_that_does_not_acknowledge_is_evicted_after_the_deadline(cluster: Cluster) -> None:
    a, b, c = three(cluster)
    c.acknowledges = False
    d = cluster.start("d")

    assert 10 < cluster.until(agreed("a b d", a, b, d)) < EVICTED_WITHIN_S
    assert c.news.problem == MemberProblem.EVICTED


def test_of_a_pair_the_other_takes_over(cluster: Cluster) -> None:
    a = cluster.start("a")
    cluster.until(lambda: a.leads)
    b = cluster.start("b")
    cluster.until(agreed("a b", a, b))

    a.crash()

    cluster.until(lambda: b.leads, EVICTED_WITHIN_S)


# Leaving.


def test_a_member_that_leaves_is_followed_at_once_and_says_nothing_more(cluster: Cluster) -> None:
    a, b, c = three(cluster)

    left = cluster.simulation.run(a.leave())

    assert cluster.until(agreed("b c", b, c)) < 1
    assert left.epoch == b.state.view.epoch
    cluster.until(lambda: a.news.problem == MemberProblem.LEFT)
    cluster.pass_s(20)
    assert isinstance(said(cluster, a)[-1], LeaveMessage)
    assert not a.stands


def test_a_member_that_leaves_before_it_has_joined_is_not_in_the_cluster(cluster: Cluster) -> None:
    a, b, _ = three(cluster)

    for name in ("d", "e", "f", "g"):
        cluster.simulation.run(cluster.start(name).leave())

    cluster.pass_s(5)
    cluster.until(agreed("a b c", a, b))


def test_one_that_was_never_watched_leaves_without_a_word(cluster: Cluster) -> None:
    a = cluster.start("a")
    a.pause()
    cluster.pass_s(1)

    assert cluster.simulation.run(a.leave()).epoch == -1
    assert not cluster.records()


def test_a_leave_waits_until_the_log_is_back(cluster: Cluster) -> None:
    a, b, c = three(cluster)
    a.world.is_cut = True
    task = a.start_leaving()
    cluster.pass_s(3)
    assert not task.done()
    assert not a.stands, "the service stopped acting before it asked"

    a.world.is_cut = False

    cluster.until(agreed("b c", b, c), 5)
    cluster.until(task.done, 5)


# Identity.


def test_of_two_processes_with_one_id_the_second_is_told(cluster: Cluster) -> None:
    a, b, c = three(cluster)

    twin = cluster.start("a", "twin")

    cluster.until(lambda: twin.news.problem == MemberProblem.DUPLICATE_ID, 10)
    cluster.pass_s(20)
    assert agreed("a b c", a, b, c)()
    assert a.leads
    assert not twin.stands


def test_a_restarted_member_that_knows_its_former_life_is_back_at_once_and_last(cluster: Cluster) -> None:
    a, b, c = three(cluster)
    a.crash()

    again = cluster.start("a", "again", previous="a0")

    assert cluster.until(agreed("b c a", b, c, again)) < 1
    assert b.leads


@pytest.mark.parametrize("others", [0, 2])
def test_a_restarted_member_that_knows_nothing_is_back_after_its_lease(cluster: Cluster, others: int) -> None:
    a, b, c = three(cluster)
    for each in (a, b, c)[: 3 - others]:
        each.crash()

    again = cluster.start("a", "again")

    assert 7 < cluster.until(lambda: again.settings.is_member(again.state)) < EVICTED_WITHIN_S


def test_a_member_that_was_replaced_does_not_replace_its_successor(cluster: Cluster) -> None:
    a, b, c = three(cluster)

    copy = cluster.start("a", "copy", previous="a0")
    cluster.until(lambda: copy.settings.is_member(copy.state))
    cluster.until(lambda: a.news.problem == MemberProblem.TAKEN_OVER)
    cluster.pass_s(30)

    assert agreed("b c a", b, c, copy)()
    assert not a.stands


# The log.


@pytest.mark.proves("T87")
def test_a_log_that_is_away_evicts_no_one_and_stops_all(cluster: Cluster) -> None:
    a, b, c = members = three(cluster)
    epoch = a.state.view.epoch
    for member in members:
        member.world.is_cut = True

    assert cluster.until(lambda: not a.stands) <= 7
    assert a.news.problem == MemberProblem.UNAVAILABLE
    cluster.pass_s(300)
    for member in members:
        member.world.is_cut = False

    cluster.until(lambda: a.leads and b.stands and c.stands, 10)
    cluster.pass_s(30)
    assert {member.state.view.epoch for member in members} == {epoch}
    assert a.news.problem == ""


@pytest.mark.proves("T50", "T55")
def test_a_member_cut_off_from_the_log_stops_before_the_others_go_on(cluster: Cluster) -> None:
    a, b, _ = three(cluster)

    a.world.is_cut = True
    stopped_s = cluster.until(lambda: not a.leads)
    went_on_s = cluster.until(lambda: b.leads)
    a.world.is_cut = False

    assert stopped_s <= 7
    assert went_on_s >= 10 - stopped_s - 2
    cluster.until(lambda: a.news.problem == MemberProblem.EVICTED, 10)


@pytest.mark.parametrize("append_s", [3.0, 6.0, 8.0])
def test_a_renewal_that_takes_long_counts_from_when_it_was_sent(cluster: Cluster, append_s: float) -> None:
    a, b, c = three(cluster)
    a.world.append_s = append_s
    cluster.pass_s(20)

    for _ in range(600):
        cluster.pass_s(0.1)
        assert sum(member.leads for member in (a, b, c)) <= 1
    assert a.news.lag_ms >= append_s * 1000 or a.news.problem == MemberProblem.EVICTED


@pytest.mark.parametrize("kept", [1.0, 0.5])
def test_a_replaced_log_ends_the_standing_at_once(cluster: Cluster, kept: float) -> None:
    members = three(cluster)

    cluster.replace_log(kept)
    took = cluster.until(lambda: not any(member.stands for member in members))

    assert took < 2.1
    assert {member.news.problem for member in members} == {MemberProblem.LOG_REPLACED}


def test_an_older_copy_of_the_log_under_the_same_name_is_noticed(cluster: Cluster) -> None:
    a, _, _ = members = three(cluster)

    cluster.replace_log(0.5, identity=a.news.log_id)

    assert cluster.until(lambda: not any(member.stands for member in members)) < 2.1


def test_a_record_of_a_newer_major_version_stops_all(cluster: Cluster) -> None:
    members = three(cluster)

    cluster.append(NewRecord(payload=b"", headers=(("type", "Schism"), ("version", "2.0"))))
    took = cluster.until(lambda: not any(member.stands for member in members))

    assert took < 1
    assert {member.news.problem for member in members} == {MemberProblem.TOO_NEW}


# Trimming and snapshots.


def test_a_member_starts_from_a_snapshot_of_a_trimmed_topic(cluster: Cluster) -> None:
    a, b, c = three(cluster, snapshot_every=30, keep_records=0)
    cluster.pass_s(200)
    first = cluster.records()[0].offset
    assert first > 100

    d = cluster.start("d", snapshot_every=30)

    cluster.until(agreed("a b c d", a, b, c, d), 2)
    assert d.state.view == a.state.view


def test_without_a_snapshot_a_trimmed_topic_is_a_gap(cluster: Cluster) -> None:
    three(cluster)
    cluster.trim(5)

    d = cluster.start("d")

    cluster.until(lambda: d.news.problem == MemberProblem.GAP)
    cluster.pass_s(20)
    assert not said(cluster, d)


def test_a_member_that_lags_behind_the_trimmed_part_goes_on_from_the_snapshot(cluster: Cluster) -> None:
    a, b, c = three(cluster, snapshot_every=10, keep_records=0)
    c.world.is_cut = True
    cluster.pass_s(6)
    cluster.trim(a.state.snapshot)
    c.world.is_cut = False

    cluster.until(lambda: c.stands, 8)

    assert agreed("a b c", a, b, c)()


# Actors that are killed.


@pytest.mark.parametrize("role", [VIEW_KEEPER, RENEWER, PROPOSER])
def test_killed_actors_cost_the_member_nothing(cluster: Cluster, role: str) -> None:
    a, b, c = three(cluster)
    epoch = a.state.view.epoch

    for _ in range(5):
        a.kill(role)
        cluster.pass_s(5)
        assert a.leads

    assert {member.state.view.epoch for member in (a, b, c)} == {epoch}
    seqs = [event.seq for event in said(cluster, a)]
    assert seqs == sorted(set(seqs))


def test_a_member_whose_view_keeper_restarts_after_the_eviction_does_not_join_again(cluster: Cluster) -> None:
    a, b, c = three(cluster)
    a.world.is_cut = True
    cluster.until(agreed("b c", b, c))
    a.kill(VIEW_KEEPER)
    a.world.is_cut = False

    cluster.until(lambda: a.news.problem == MemberProblem.EVICTED, 10)
    cluster.pass_s(20)

    assert agreed("b c", b, c)()


# Properties.


def test_changed_properties_are_read_back_and_the_view_stays(cluster: Cluster) -> None:
    a, b, c = three(cluster)
    epoch = a.state.view.epoch

    changed = cluster.simulation.run(b.change(role="search", zone="1"))
    cluster.until(lambda: bool(a.state.member("b").properties), 1)  # type: ignore[union-attr]

    assert changed.problem == ""
    assert dict(a.state.member("b").properties) == {"role": "search", "zone": "1"}  # type: ignore[union-attr]
    assert c.state.view.epoch == epoch
    assert cluster.simulation.run(b.change(role="search")).offset == changed.offset


def test_too_many_properties_are_refused(cluster: Cluster) -> None:
    _, b, _ = three(cluster)

    changed = cluster.simulation.run(b.change(**{f"name{number}": "1" for number in range(65)}))

    assert "the most is 64" in changed.problem
