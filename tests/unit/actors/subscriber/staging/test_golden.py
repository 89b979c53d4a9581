"""Staging: a package is imported after the golden subscriber's explicit verdict on it, and not before."""

import pytest

from callboard.actors.core.decision import PeerUp
from callboard.actors.subscriber import actors, roles
from callboard.actors.subscriber.effects import ImportPackages
from callboard.messages.distribution.mailbox import StatusesPending, Verdicts, VerdictsWanted
from callboard.messages.distribution.topic_messages import (
    DiscoveryMessage,
    PackageStatusMessage,
    RetryCommand,
    State,
    Status,
    SubscriberConfiguration,
)
from callboard.testing.drivers.subscriber_example import LOG, ImporterDriver, command, package, settings

GOLDEN = "edge-0"
ME = settings().name


def verdict(
    offset: int, status: Status = Status.IMPORTED, reason: str = "", package_id: str = ""
) -> PackageStatusMessage:
    return PackageStatusMessage(
        subscriber_instance="g", subscriber=GOLDEN, publisher="site", offset=offset, status=status, reason=reason,
        package_id=package_id or f"p{offset}",
    )  # fmt: skip


def golden(offset: int, state: State = State.IDLE, *, editable: bool = True, **others: object) -> DiscoveryMessage:
    follows, its_golden = others.pop("follows", ()), others.pop("golden", "")
    return DiscoveryMessage(
        subscriber_instance="g", subscriber=GOLDEN, state=state, offset=offset, log_id=LOG, time_ns=10**12,
        configuration=SubscriberConfiguration(
            editable=editable, max_retries=-1, follows=follows, golden=its_golden
        ), **others,
    )  # fmt: skip


def staged(*packages: int) -> ImporterDriver:
    """A subscriber that has read packages from offset 10 on and waits for its golden subscriber."""
    it = ImporterDriver(golden=GOLDEN, batch_packages=8).arrive()
    it.read(*(package(offset) for offset in packages or (10, 11, 12)))
    return it


def hear(it: ImporterDriver, *verdicts: PackageStatusMessage, said: DiscoveryMessage | None = None) -> None:
    wanted = it.sent(VerdictsWanted)[-1]
    it.feed(Verdicts(offset=wanted.offset, verdicts=verdicts, golden=said or golden(9)))


@pytest.mark.proves("F86", "F87")
def test_a_package_waits_for_the_golden_subscribers_verdict_and_says_so() -> None:
    it = staged()
    assert it.sent(VerdictsWanted) == [VerdictsWanted(offset=10)]
    hear(it, said=golden(9, State.RETRYING, reason="attempt 3 failed: disk full"))
    assert not it.asks(ImportPackages)
    state, reason = it.state()
    assert state is State.STAGED
    assert reason == (
        "waits for edge-0's verdict on offset 10 since 1970-01-01 00:16:40 UTC; "
        "edge-0 is retrying at offset 9: attempt 3 failed: disk full"
    )
    hear(it, verdict(10))
    assert it.asked(ImportPackages).offset == 10


@pytest.mark.proves("F86", "F87")
@pytest.mark.parametrize("status", [Status.IMPORTED, Status.SUPERSEDED, Status.HOOK_FAILED])
def test_a_package_that_the_golden_subscriber_imported_is_imported(status: Status) -> None:
    it = staged()
    hear(it, verdict(10, status))
    assert it.asked(ImportPackages).offsets == (10,)


@pytest.mark.proves("F86", "F87", "W13")
@pytest.mark.parametrize("status", [Status.REMOVED, Status.REMOVED_FAILED, Status.SKIPPED])
def test_a_package_that_the_golden_subscriber_left_out_is_left_out_with_the_reason(status: Status) -> None:
    it = staged()
    hear(it, verdict(10, status, "damaged"), verdict(11))
    assert it.done(ImportPackages).offsets == (11,)
    (line,) = [line for pending in it.sent(StatusesPending) for line in pending.statuses]
    assert (line.offset, line.status) == (10, Status.SKIPPED)
    assert line.reason == f"left out by edge-0 ({status.name.lower()}): damaged"


def test_a_package_that_the_golden_subscriber_quarantined_waits() -> None:
    it = staged()
    hear(it, verdict(10, Status.HELD, "disk full"))
    assert it.state()[0] is State.STAGED
    assert "edge-0 has offset 10 in quarantine: disk full" in it.state()[1]
    hear(it, verdict(10, Status.IMPORTED))
    assert it.asked(ImportPackages).offset == 10


@pytest.mark.proves("W13")
def test_verdicts_on_later_packages_do_not_count_for_earlier_ones() -> None:
    it = staged()
    hear(it, verdict(11), verdict(12), said=golden(12))
    assert not it.asks(ImportPackages)
    state, reason = it.state()
    assert state is State.STAGED
    assert "edge-0 is past it, at offset 12, and its verdict is not on the status topic" in reason
    assert "callboard retry edge-1 --without-golden" in reason


@pytest.mark.proves("W13")
def test_a_verdict_on_another_package_at_this_offset_does_not_count() -> None:
    it = staged()
    hear(it, verdict(10, package_id="of a log that was lost"))
    assert not it.asks(ImportPackages)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (golden(20, editable=False), "start edge-0 with editable = true"),
        (golden(9, follows=("news",)), "does not follow 'site'"),
        (golden(9, State.IDLE), "edge-0 is idle at offset 9"),
        (golden(9, State.STOPPED), "edge-0 is stopped at offset 9"),
    ],
)
def test_the_reason_says_what_is_wrong_with_the_golden_subscriber(said: DiscoveryMessage, reason: str) -> None:
    it = staged()
    hear(it, said=said)
    assert reason in it.state()[1]


def test_the_reason_names_an_unknown_or_silent_golden_subscriber() -> None:
    it = staged()
    wanted = it.sent(VerdictsWanted)[-1]
    it.feed(Verdicts(offset=wanted.offset))
    assert "edge-0 was never heard of on this log" in it.state()[1]
    hear(it, said=golden(9))
    it.pass_time(300)
    it.feed(PeerUp("nobody"))
    assert "edge-0 was idle at offset 9 when last heard from, at 1970-01-01 00:16:40 UTC" in it.state()[1]


def test_two_subscribers_that_wait_for_each_other_keep_the_same_reason() -> None:
    it = staged()
    hear(it, said=golden(9, State.STAGED, golden=ME, reason="waits for me"))
    first = it.state()[1]
    assert "neither continues: start one of them without golden" in first
    hear(it, said=golden(9, State.STAGED, golden=ME, reason=f"waits for me; it is staged: {first}"))
    assert it.state()[1] == first


def test_the_reason_of_a_golden_subscriber_that_is_staged_itself_is_not_repeated() -> None:
    it = staged()
    hear(it, said=golden(9, State.STAGED, golden="edge-00", reason="a long story"))
    assert it.state()[1].endswith("edge-0 is staged at offset 9: waits for the verdict of edge-00")


def test_a_status_topic_that_cannot_be_read_is_reported() -> None:
    it = staged()
    it.feed(Verdicts(offset=10, problem="no route to the broker"))
    assert "the status topic cannot be read: no route to the broker" in it.state()[1]


@pytest.mark.proves("R11")
def test_a_command_waives_the_verdict_for_one_package_also_after_a_restart() -> None:
    it = staged()
    hear(it, said=golden(12))
    it.order(command(5, retry=RetryCommand(without_golden=True)))
    stored = it.save_all()[-1].ledger
    assert it.asked(ImportPackages).offsets == (10,)
    again = ImporterDriver(golden=GOLDEN).arrive(stored)
    again.read(package(10), package(11))
    assert again.asked(ImportPackages).offsets == (10,)


def test_a_subscriber_without_a_golden_one_refuses_to_waive_and_has_no_watcher() -> None:
    it = ImporterDriver().arrive()
    it.read(package(10))
    it.order(command(5, retry=RetryCommand(without_golden=True)))
    it.done(ImportPackages)
    it.save_all()
    reason = "this subscriber is not staged behind a golden subscriber; retry without --without-golden"
    assert it.results()["c5"].reason == reason
    assert roles.GOLDEN_WATCHER not in [actor.role for actor in actors(settings())]
    assert roles.GOLDEN_WATCHER in [actor.role for actor in actors(settings(golden=GOLDEN))]


def test_verdicts_received_in_advance_are_used_and_missing_ones_requested_from_the_position_on() -> None:
    it = staged(10, 11, 12)
    hear(it, verdict(10), verdict(11))
    assert it.asked(ImportPackages).offsets == (10, 11)
    assert it.sent(VerdictsWanted) == [VerdictsWanted(offset=10)]  # what may fail and be judged again is kept there
    it.done(ImportPackages)
    assert it.sent(VerdictsWanted)[-1] == VerdictsWanted(offset=12)


def test_a_restarted_watcher_gets_the_request_again() -> None:
    it = staged()
    it.feed(PeerUp(roles.GOLDEN_WATCHER))
    assert it.sent(VerdictsWanted) == [VerdictsWanted(offset=10), VerdictsWanted(offset=10)]


def test_a_package_not_addressed_to_the_golden_subscriber_does_not_wait_for_it() -> None:
    it = ImporterDriver(golden=GOLDEN, batch_packages=8).arrive()
    it.read(package(10, recipients=("edge-1", "edge-2")), package(11, recipients=("edge-0", "edge-1")))
    assert it.asked(ImportPackages).offsets == (10,)
