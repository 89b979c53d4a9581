"""An announcement says what a subscriber waits for, since when, how often it failed, and what comes next."""

import pytest

from callboard.actors.core.backoff import Backoff
from callboard.actors.subscriber.effects import ImportPackages
from callboard.actors.subscriber.importing.progress import SLOW_S
from callboard.errors import HookFailed, LogUnavailable
from callboard.messages.distribution.mailbox import Report
from callboard.messages.distribution.topic_messages import State
from callboard.testing.drivers.announcer_driver import AnnouncerDriver
from callboard.testing.drivers.subscriber_example import ImporterDriver, package


def importing() -> ImporterDriver:
    """An importer at work on the package at offset 10."""
    it = ImporterDriver(
        editable=True, max_retries=3, follows=("site", "shop"), batch_packages=1, retry=Backoff(30.0, 30.0)
    ).arrive()
    it.read(package(10), package(11))
    return it


@pytest.mark.proves("F60", "F62")
def test_it_announces_its_position_for_each_publisher_and_its_configuration() -> None:
    said = importing().report()
    assert [(state.publisher, state.offset, state.retries) for state in said.states] == [("shop", 9, 0), ("site", 9, 0)]
    assert (said.configuration.editable, said.configuration.max_retries) == (True, 3)
    assert said.configuration.follows == ("site", "shop")


@pytest.mark.proves("F62", "F91", "F90")
def test_a_failure_is_announced_with_its_attempts_its_error_and_the_time_of_the_next_try() -> None:
    it = importing()
    for attempt in (1, 2):
        failed_ns = it.now.wall_ns
        it.fail(ImportPackages, HookFailed("before_import hook shop:check: OSError: no"))
        said = it.report()
        assert (said.state, said.attempts, said.states[0].retries) == (State.RETRYING, attempt, attempt)
        assert said.last_error == "before_import hook shop:check: OSError: no"
        assert f"attempt {attempt} failed: {said.last_error}" in said.reason
        assert failed_ns < said.next_try_ns <= failed_ns + 30 * 10**9
        assert (said.head_offset, said.import_started_ns) == (10, 0)
        it.tick("retry")
        it.save_all()


@pytest.mark.proves("F61")
def test_each_success_and_each_failure_is_reported_for_the_announcement() -> None:
    it = importing()
    for step in (it.done, lambda kind: it.fail(kind, LogUnavailable("down"))):
        before = len(it.sent(Report))
        step(ImportPackages)
        it.save_all()
        it.tick("report")
        assert len(it.sent(Report)) == before + 1


@pytest.mark.proves("F60")
def test_it_announces_itself_every_ten_seconds_by_default() -> None:
    it = AnnouncerDriver().admitted()
    began_s = it.now.mono_s
    it.tick("announce")
    it.append()
    assert it.now.mono_s - began_s == 10


@pytest.mark.proves("F75")
def test_one_import_runs_at_a_time_and_the_announcement_names_it() -> None:
    it = importing()
    assert [effect.offsets for effect in it.open if isinstance(effect, ImportPackages)] == [(10,)]
    said = it.report()
    assert (said.state, said.head_offset, said.head_package) == (State.IMPORTING, 10, "p10")
    assert said.import_started_ns == it.now.wall_ns
    it.done(ImportPackages)
    assert [effect.offsets for effect in it.open if isinstance(effect, ImportPackages)] == [(11,)]
    assert it.report().head_package == "p11"


@pytest.mark.proves("F100")
def test_an_import_that_runs_for_more_than_five_minutes_is_called_slow() -> None:
    it = importing()
    it.pass_time(SLOW_S - 1)
    assert it.report().reason == ""
    it.tick("slow")
    assert it.report().reason == "slow: the import of offset 10 takes more than 5 minutes"
    it.done(ImportPackages)
    assert it.report().reason == ""


def test_the_password_of_a_repository_is_never_announced() -> None:
    it = ImporterDriver(repository="postgresql://ann:hidden@db.example/site?repository=edge-1").arrive()
    said = it.report()
    assert said.configuration.repository == "postgresql://db.example/site"
    assert "hidden" not in repr(said)
