"""Members are copied, suspended and blocked, clocks jump, and one is alone."""

import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from callboard.board.member.identity import FILE
from tests import stepped_clock
from tests.chaos.faults.services import BRIEF_S, LONG_S, Service, Services


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    with Services(tmp_path, f"sqlite:///{tmp_path}/board.db") as services:
        yield services


def test_a_second_process_under_the_id_of_one_that_runs_is_refused_and_changes_nothing(services: Services) -> None:
    services.lease_s = LONG_S
    a, b = services.pair()

    second = services.start("a")

    services.until(lambda: second.end)
    assert second.end["code"] == "duplicate_id"
    assert "stop one, or give it another id" in second.end["why"]
    assert (a.leads, a.sees, b.sees) == (True, "ab", "ab")


def test_a_copy_of_a_folder_is_refused_beside_the_original_and_can_take_over_only_when_that_is_gone(
    services: Services, tmp_path: Path
) -> None:
    (tmp_path / "one").mkdir()
    original = services.start(folder=tmp_path / "one")
    services.until(lambda: original.leads)
    (tmp_path / "two").mkdir()
    shutil.copy(tmp_path / "one" / FILE, tmp_path / "two" / FILE)

    same_folder, copy = services.start(folder=tmp_path / "one"), services.start(folder=tmp_path / "two")

    services.until(lambda: same_folder.end and copy.end)
    assert [each.end["code"] for each in (same_folder, copy)] == ["duplicate_id", "duplicate_id"]
    assert "or set instance to another id" in same_folder.end["why"]
    assert "stop one, or give it another id" in copy.end["why"]
    assert original.leads
    original.kill()
    again = services.start(folder=tmp_path / "two")
    services.until(lambda: again.leads)
    assert again.last("started")["instance"] == original.last("started")["instance"]


@pytest.mark.proves("T50")
def test_a_leader_that_was_suspended_for_longer_than_its_lease_stops_and_joins_again_as_the_last(
    services: Services,
) -> None:
    a, b = services.pair()

    a.signal(signal.SIGSTOP)
    services.until(lambda: b.leads)
    a.signal(signal.SIGCONT)

    services.until(lambda: a.sees == b.sees == "ba")
    assert (a.leads, b.leads) == (False, True)
    assert "event='member.evicted'" in a.logged()


def test_a_leader_whose_event_loop_is_blocked_is_followed_and_joins_again_when_it_is_free(
    services: Services, tmp_path: Path
) -> None:
    a, b = services.pair()

    a.signal(signal.SIGUSR1)
    services.until(lambda: b.leads)
    (tmp_path / "released").touch()

    services.until(lambda: a.sees == b.sees == "ba")
    assert (a.leads, b.leads) == (False, True)
    assert "event='member.evicted'" in a.logged()


@pytest.mark.proves("T62", "T87")
def test_jumps_of_the_clock_that_dates_the_records_change_no_view(services: Services, tmp_path: Path) -> None:
    clock = tmp_path / "clock"
    stepped_clock.step(clock, "+0")
    stepped = stepped_clock.environment(clock)
    a = services.start("a", **stepped)
    services.until(lambda: a.leads)
    b = services.start("b", **stepped)
    services.until(lambda: a.sees == b.sees == "ab")
    told = len(a.told)
    for by in ("+1d", "-1h"):
        stepped_clock.step(clock, by)
        pass_s(services, BRIEF_S)
    assert (a.leads, len(a.told)) == (True, told)

    a.kill()

    services.until(lambda: b.leads)


def test_a_lone_member_goes_on_after_each_fault(services: Services, tmp_path: Path) -> None:
    def leads_again(service: Service) -> bool:
        return service.leads and [each["what"] for each in service.told].count("leads") == 2

    a = services.start("a")
    services.until(lambda: a.leads)
    a.signal(signal.SIGSTOP)
    pass_s(services, BRIEF_S)
    a.signal(signal.SIGCONT)
    services.until(lambda: leads_again(a))
    first, second = (each["epoch"] for each in a.told if each["what"] == "leads")
    assert first == second, "no one else could lead meanwhile"
    a.kill()

    again = services.start("a")

    services.until(lambda: again.leads)
    assert again.last("leads")["epoch"] > first


def pass_s(services: Services, seconds: float) -> None:
    """Let this time pass: the test is about what does not happen meanwhile."""
    until_s = time.monotonic() + seconds
    services.until(lambda: time.monotonic() > until_s)
