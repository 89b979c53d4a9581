"""One active instance of a subscriber: which holds the name, which stands by, and which must stop."""

from dataclasses import replace

import pytest

from callboard.actors.core.decision import Origin
from callboard.actors.core.effects import Append, FindBounds, LogRead, ReadLog, TopicBounds
from callboard.actors.subscriber.effects import ImportPackages, OpenRepository
from callboard.errors import LogUnavailable, OffsetOutOfRange, RepositoryBusy
from callboard.messages.distribution.mailbox import Admitted, AgentProblem, Ready, ReadyQuery
from callboard.messages.distribution.topic_messages import ForgottenMessage, LogMessage, State
from callboard.messages.headers import new_record, open_record
from callboard.messages.repeated import repeated
from callboard.testing.drivers.announcer_driver import AnnouncerDriver
from callboard.testing.drivers.subscriber_example import NAME, ImporterDriver, as_read, package


def test_the_lease_ends_thirty_seconds_after_the_last_announcement_began() -> None:
    it = AnnouncerDriver().admitted()
    it.tick("announce")
    it.pass_time(3)
    it.append()
    assert it.sent(Admitted)[-1].until_ms == (100 + 10 + 30) * 1000


def test_an_instance_that_announces_itself_rarely_keeps_its_name_in_between() -> None:
    it = AnnouncerDriver(announce_interval_s=300.0)
    it.claim(announce_interval_ms=300_000)
    assert it.sent(Admitted)[-1].until_ms == (100 + 900) * 1000
    it.pass_time(250)
    rival = AnnouncerDriver()
    rival.topic, rival.now = it.topic, it.now
    rival.claim(instance="rival")
    assert rival.sent(Admitted) == []


@pytest.mark.proves("F94")
def test_a_standby_takes_over_when_the_holder_says_goodbye() -> None:
    it = AnnouncerDriver(standby=True)
    it.others_say("holder", state=State.IDLE)
    it.claim()
    assert (it.sent(Admitted), it.sent(AgentProblem)) == ([], [])
    it.look_in_vain()
    assert not it.asks(Append), "it announces nothing while it stands by"
    it.others_say("holder", state=State.STOPPED)
    it.look()
    it.append()
    it.look()
    assert it.sent(Admitted)


@pytest.mark.proves("F94")
def test_a_standby_takes_over_when_the_holder_is_silent_for_too_long() -> None:
    it = AnnouncerDriver(standby=True)
    it.others_say("holder", state=State.IMPORTING)
    it.claim()
    for second in range(0, 40, 2):
        if second == 20:
            it.others_say("holder", state=State.IMPORTING)
            it.look()
        assert not it.asks(Append)
        it.look_in_vain()
    while not it.asks(Append):
        it.look_in_vain()
    it.append()
    it.look()
    assert it.sent(Admitted)
    assert it.now.mono_s > 100 + 20 + 30


def test_of_two_standbys_one_takes_over_and_the_other_keeps_standing_by() -> None:
    one, other = AnnouncerDriver(standby=True), AnnouncerDriver(standby=True)
    other.topic = one.topic
    one.others_say("holder", state=State.IDLE)
    one.claim(instance="one")
    other.claim(instance="other")
    one.others_say("holder", state=State.STOPPED)
    one.look()
    other.look()
    other.append()
    one.append()
    one.look()
    other.look()
    assert (len(one.sent(Admitted)), len(other.sent(Admitted))) == (0, 1)
    assert one.asks(ReadLog)


def test_an_instance_back_from_a_long_absence_does_not_take_the_name_of_a_restarted_holder() -> None:
    it = AnnouncerDriver(standby=True)
    it.others_say("away", term=1)
    it.others_say("holder", takes_over=1)
    it.others_say("holder", takes_over=1, term=2)
    it.others_say("holder")
    it.put(repeated(it.topic[0], read_to=4))
    it.first = 4
    it.claim(instance="away")
    assert it.sent(Admitted) == [], "the takeover is no longer on the topic, and the holder imports"
    it.others_say("holder", term=4)
    it.look()
    it.look_in_vain()
    assert not it.asks(Append), "it stands by"


def test_a_trim_of_the_topic_does_not_cost_the_holder_its_name() -> None:
    it = AnnouncerDriver(standby=True).admitted()
    it.others_say("stand-by")
    it.tick("announce")
    it.append()
    it.put(repeated(it.topic[1], read_to=4))
    it.put(repeated(it.topic[2], read_to=4))
    it.trim(4)
    it.pass_time(29)
    it.tick("announce")
    it.append()
    it.look()
    assert it.sent(Admitted)[-1].until_ms == (it.now.mono_s + 30) * 1000


def test_a_holder_that_watches_a_rival_knows_that_a_late_takeover_is_void() -> None:
    it = AnnouncerDriver(standby=True).admitted()
    it.tick("announce")
    it.append()
    it.others_say("stand-by")
    it.put(repeated(it.topic[1], read_to=4))
    it.trim(3)
    it.tick("announce")
    it.append()
    it.look()
    assert it.sent(Admitted)[-1].until_ms <= it.now.mono_s * 1000, "the rival may have taken over unseen"
    it.others_say("stand-by", takes_over=2)
    it.look()
    while not it.asks(Append):
        it.look_in_vain()
    assert it.append().takes_over == 3, "the late takeover did not count"


def test_silence_while_the_log_cannot_be_read_does_not_count_against_the_holder() -> None:
    it = AnnouncerDriver(standby=True)
    it.others_say("holder", state=State.IDLE)
    it.claim()
    it.pass_time(60)
    it.fail(ReadLog, LogUnavailable("down"))
    it.tick("again")
    it.look_in_vain()
    assert not it.asks(Append)


def test_a_standby_on_a_replaced_log_watches_for_the_full_lease_again() -> None:
    it = AnnouncerDriver(standby=True)
    it.others_say("holder", state=State.IDLE)
    it.claim()
    it.fail(ReadLog, OffsetOutOfRange("discovery", 2, 5, 9))
    it.done(FindBounds, TopicBounds("another", 5, 9))
    assert it.asked(ReadLog).start == 5
    assert not it.asks(Append)
    began_s = it.now.mono_s
    while not it.asks(Append):
        it.pass_time(it.asked(ReadLog).wait_s)
        it.done(ReadLog, LogRead("another", (), 9))
    assert it.now.mono_s > began_s + 30, "no instance has spoken for a full lease"


def test_the_suspension_of_a_standby_does_not_count_against_the_holder() -> None:
    it = AnnouncerDriver(standby=True)
    it.others_say("holder")
    it.claim()
    it.look_in_vain()
    it.pass_time(600)
    it.look_in_vain()
    assert not it.asks(Append), "announcements of the meantime are not read yet"
    assert 15 < waited_s(it) < 30


def test_a_log_that_fails_at_times_does_not_keep_the_name_of_a_dead_holder() -> None:
    it = AnnouncerDriver(standby=True)
    it.others_say("holder")
    it.claim()
    for _ in range(100):
        if it.asks(Append):
            break
        it.look_in_vain()
        if not it.asks(Append):
            it.fail(ReadLog, LogUnavailable("down"))
            it.tick("again")
    assert it.asks(Append)


@pytest.mark.parametrize("lease_s", [1, 3])
def test_a_holder_with_a_short_lease_is_watched_for_little_longer(lease_s: int) -> None:
    it = AnnouncerDriver(standby=True)
    it.others_say("holder", lease_ms=lease_s * 1000)
    it.claim()
    assert lease_s * 1.1 < waited_s(it) <= lease_s * 1.5


def test_if_offsets_start_over_the_claim_is_decided_by_the_new_log() -> None:
    it = AnnouncerDriver(standby=True).admitted()
    for _ in range(3):
        it.tick("announce")
        it.append()
    it.topic.clear()
    it.others_say("rival", state=State.IDLE)
    it.tick("announce")
    it.append()
    it.look()
    assert it.sent(Admitted)[-1].until_ms <= it.now.mono_s * 1000


def test_a_lease_is_extended_only_after_the_announcement_is_found_on_the_log() -> None:
    it = AnnouncerDriver().admitted()
    it.tick("announce")
    (new,) = it.asked(Append).records
    it.put(new)
    it.done(Append, (2,))
    assert it.asked(ReadLog).start == 1, "its former announcement is looked for too"
    assert it.sent(Admitted)[-1].until_ms == 130_000
    it.look()
    assert it.sent(Admitted)[-1].until_ms == 140_000


def test_if_the_announcement_of_the_holder_is_gone_the_rest_of_the_log_decides() -> None:
    it = AnnouncerDriver(standby=True).admitted()
    it.others_say("rival", takes_over=1, state=State.IDLE)
    it.topic[0] = replace(it.topic[0], payload=b"another")
    it.tick("announce")
    it.append()
    it.look()
    assert it.sent(Admitted)[-1].until_ms <= it.now.mono_s * 1000


def test_a_takeover_after_an_announcement_of_the_holder_is_void_and_the_watch_starts_over() -> None:
    it = AnnouncerDriver(standby=True)
    it.others_say("holder")
    it.claim()
    while not it.asks(Append):
        it.look_in_vain()
    it.others_say("holder")
    assert it.append().takes_over == 1
    it.look()
    assert not it.sent(Admitted)
    began_s = it.now.mono_s
    while not it.asks(Append):
        it.look_in_vain()
    assert it.now.mono_s > began_s + 30
    assert it.append().takes_over == 3
    it.look()
    assert it.sent(Admitted)


def test_a_holder_is_watched_for_its_announced_lease() -> None:
    it = AnnouncerDriver(standby=True, claim_ttl_s=30.0)
    it.others_say("holder", lease_ms=120_000)
    it.claim()
    while not it.asks(Append):
        it.look_in_vain()
    assert it.now.mono_s > 100 + 120


def waited_s(it: AnnouncerDriver) -> float:
    """How long the holder was watched."""
    began_s = it.now.mono_s
    while not it.asks(Append):
        it.look_in_vain()
    return it.now.mono_s - began_s


def forget(it: AnnouncerDriver) -> None:
    said = ForgottenMessage(subscriber=NAME, author="kim", reason="its host burnt down")
    it.put(new_record(said, record_id="f", time_ns=1, producer="kim"))


@pytest.mark.parametrize("standby", [False, True])
def test_a_forgotten_holder_is_watched_only_for_the_watchers_own_lease(standby: bool) -> None:
    it = AnnouncerDriver(standby=standby)
    it.others_say("holder", lease_ms=1_800_000)
    forget(it)
    it.claim()
    assert 30 < waited_s(it) < 40
    assert it.append().takes_over == 1
    it.look()
    assert it.sent(Admitted)


def test_a_holder_forgotten_while_it_is_watched_is_not_waited_for_either() -> None:
    it = AnnouncerDriver(standby=True)
    it.others_say("holder", lease_ms=1_800_000)
    it.claim()
    for _ in range(30):
        it.look_in_vain()
    assert not it.asks(Append)
    forget(it)
    it.look()
    assert it.append().takes_over == 1


def test_the_next_announcement_of_a_forgotten_subscriber_undoes_it() -> None:
    it = AnnouncerDriver(standby=True)
    it.others_say("holder", lease_ms=1_800_000)
    forget(it)
    it.claim()
    it.others_say("holder", lease_ms=120_000)
    it.look()
    assert waited_s(it) > 120


def test_a_forgotten_rival_older_than_the_own_announcement_is_not_waited_for() -> None:
    """On a topic that no longer shows which instance holds the name."""
    it = AnnouncerDriver(standby=True, place="home")
    it.others_say("the first")
    it.first = 2
    it.others_say("rival", lease_ms=1_800_000)
    it.others_say("me", place="home")
    it.claim()
    it.look_in_vain()
    assert not it.sent(Admitted)
    forget(it)
    it.look()
    assert waited_s(it) < 40
    it.append()
    it.look()
    assert it.sent(Admitted)


@pytest.mark.parametrize("jump_s", [45, 86_400, -3600])
def test_a_jump_of_the_clock_during_standby_changes_nothing(jump_s: int) -> None:
    it = AnnouncerDriver(standby=True)
    it.others_say("holder")
    it.claim()
    it.now = it.now._replace(wall_ns=it.now.wall_ns + jump_s * 10**9)
    for _ in range(10):
        it.others_say("holder")
        it.look()
        it.look_in_vain()
        assert not it.asks(Append)


@pytest.mark.parametrize("jump_s", [45, 86_400, -3600])
def test_an_instance_with_a_wrong_clock_stops_once_the_holder_has_spoken(jump_s: int) -> None:
    it = AnnouncerDriver()
    it.now = it.now._replace(wall_ns=10**18)
    it.others_say("holder")
    it.now = it.now._replace(wall_ns=it.now.wall_ns + jump_s * 10**9)
    it.claim()
    it.look_in_vain()
    assert not it.sent(Admitted)
    it.others_say("holder")
    it.look()
    assert it.append().state is State.STOPPED
    assert it.sent(AgentProblem)


@pytest.mark.proves("F94")
def test_a_copy_of_the_repository_on_another_host_is_refused_while_the_original_speaks() -> None:
    it = AnnouncerDriver(place="copy")
    it.others_say("me", state=State.IDLE, place="original", host="there")
    it.claim()
    assert it.sent(Admitted) == []
    it.others_say("me", state=State.IDLE, place="original", host="there")
    it.look()
    (problem,) = it.sent(AgentProblem)
    assert "already runs as instance me on there" in problem.reason
    assert not it.asks(Append), "its goodbye would be taken for the original's"


def test_a_moved_repository_gets_its_name_once_the_instance_at_the_old_place_is_silent() -> None:
    it = AnnouncerDriver(place="new home")
    it.others_say("me", state=State.IDLE, place="old home")
    it.claim()
    while not it.asks(Append):
        it.look_in_vain()
    it.append()
    it.look()
    assert it.sent(Admitted)


def test_a_subscriber_restarted_in_the_same_place_has_its_name_at_once() -> None:
    it = AnnouncerDriver(place="home", pid=8)
    it.others_say("me", state=State.IMPORTING, place="home", pid=7)
    it.claim()
    assert it.sent(Admitted)


@pytest.mark.proves("W9", "F94")
def test_a_suspended_importer_imports_nothing_before_it_has_its_name_again() -> None:
    it = ImporterDriver(batch_packages=1).arrive()
    it.feed(Admitted(until_ms=130_000))
    it.read(package(10), package(11), package(12))
    it.pass_time(40)
    it.done(ImportPackages)
    it.save_all()
    assert not it.asks(ImportPackages)
    assert it.state() == (State.STARTING, "waits for its name")
    it.feed(Admitted(until_ms=170_000))
    assert it.asked(ImportPackages).offset == 11


def test_an_announcer_that_was_replaced_stops_its_importer_at_once() -> None:
    it = AnnouncerDriver(standby=True).admitted()
    it.pass_time(35)
    it.others_say("successor", state=State.IDLE, takes_over=1)
    it.tick("announce")
    it.append()
    it.look()
    assert it.sent(Admitted)[-1].until_ms <= it.now.mono_s * 1000
    assert it.asks(ReadLog), "it stands by again"


def test_a_standby_waits_for_a_repository_that_another_process_holds() -> None:
    it = ImporterDriver(standby=True)
    for _ in range(20):
        it.fail(OpenRepository, RepositoryBusy("process 7 has it"))
        assert it.sent(AgentProblem) == []
        assert it.report().reason == "waits for its name"
        it.tick("open")
    it.arrive()
    assert it.state() == (State.IDLE, "")


def test_a_question_for_readiness_is_answered_once_it_is_ready_and_announced() -> None:
    it = AnnouncerDriver().admitted()
    it.feed(ReadyQuery(), Origin("gateway", 3))
    assert it.replies() == []
    it.tick("ready")
    assert it.replies() == [(Origin("gateway", 3), Ready(reason="forced"))]
    said = it.append()
    assert (said.ready, said.ready_reason) == (True, "forced")
    it.feed(ReadyQuery(), Origin("gateway", 4))
    assert it.replies()[-1] == (Origin("gateway", 4), Ready(reason="forced"))


@pytest.mark.proves("F93")
def test_a_new_announcer_of_the_same_process_is_as_ready_as_the_former_one() -> None:
    it = AnnouncerDriver()
    it.others_say("me", state=State.IMPORTING, host="here", pid=7, ready=True, ready_reason="latency")
    it.claim()
    it.tick("soon")
    assert it.append().ready_reason == "latency"
    other = AnnouncerDriver(pid=8)
    other.others_say("me", state=State.IMPORTING, host="here", pid=7, ready=True, ready_reason="latency")
    other.claim()
    other.tick("announce")
    assert not other.append().ready


def test_a_line_for_the_publishers_log_is_appended_and_not_retried() -> None:
    it = AnnouncerDriver().admitted()
    line = LogMessage(publisher="site", subscriber_instance="me", subscriber="edge-1", message="import failed")
    it.feed(line)
    (record,) = it.asked(Append).records
    assert open_record(as_read(record, 7), LogMessage) == line
    it.fail(Append, LogUnavailable("down"))
    assert "again" not in it.timers


@pytest.mark.parametrize(("its_s", "successors_s"), [(120, 30), (30, 120), (30, 30)])
def test_a_holder_that_wakes_late_and_its_successor_never_both_hold_the_name(its_s: int, successors_s: int) -> None:
    holder = AnnouncerDriver(claim_ttl_s=float(its_s), standby=True).admitted()
    successor = AnnouncerDriver(claim_ttl_s=float(successors_s), standby=True)
    successor.topic, successor.now = holder.topic, holder.now
    successor.claim(instance="successor")
    slept_until_s = holder.now.mono_s + 41
    while not successor.asks(Append) and successor.now.mono_s < slept_until_s:
        successor.look_in_vain()
    if successor.asks(Append):
        assert successor.now.mono_s > admitted_until_s(holder)
        successor.append()
        successor.look()
    holder.now = holder.now._replace(mono_s=slept_until_s)
    holder.tick("announce")
    holder.append()
    holder.look()
    successor.look()
    have = [it for it in (holder, successor) if admitted_until_s(it) > slept_until_s + 3]
    assert have == [holder if its_s > 41 else successor]


def admitted_until_s(it: AnnouncerDriver) -> float:
    """The time until which its importer may import."""
    return max((each.until_ms / 1000 for each in it.sent(Admitted)[-1:]), default=float("-inf"))
