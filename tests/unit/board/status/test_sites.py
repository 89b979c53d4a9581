"""What a board says of a relay and its site, by its announcement alone: in virtual time."""

from dataclasses import replace
from typing import Any

import pytest

from callboard.actors.publisher.fleet.following import as_reader
from callboard.backends.log import Retention
from callboard.board.read.status.families import exposed
from callboard.board.read.status.metrics import board_metrics
from callboard.board.read.status.retention_forecast import retention_forecast
from callboard.cli.status.sites_table import site_tree
from callboard.cli.status.status_screen import Screen
from callboard.messages.distribution.topic_messages import SiteReport, SiteSubscriber, State, StateCount

WORST = SiteSubscriber(
    name="edge-7", state="blocked", reason="its disk is full", offset=3, packages=7, oldest_ns=1, attempts=3, needs=True
)


def report(board: Any, **said: Any) -> SiteReport:
    """Thirty subscribers, of which one is blocked."""
    counts = (("idle", 27), ("importing", 2), ("blocked", 1))
    made = SiteReport(
        log_id="L2", place="postgresql://berlin/board", relayed=9, offset=3, subscribers=30, needs=1,
        counts=tuple(StateCount(state=state, subscribers=number) for state, number in counts),
        worst=(replace(WORST, oldest_ns=board.now_ns - 60 * 10**9),), time_ns=board.now_ns,
    )  # fmt: skip
    return replace(made, **said)


def shown(drawn: Any) -> str:
    from rich.console import Console

    console = Console(width=140, no_color=True)
    with console.capture() as captured:
        console.print(drawn)
    return captured.get()


@pytest.fixture
def site(board: Any) -> Any:
    """Ten packages, of which the relay has nine, and the slowest of its site three."""
    for number in range(10):
        board.package(path=f"/blog/{number}")
    board.announce("berlin", 3, State.IDLE, site=report(board))
    return board


def test_the_status_has_a_line_for_each_site_and_names_who_needs_an_operator(site: Any) -> None:
    view = site.status()
    [row] = view.subscribers
    assert (row.needs, row.lag_packages, row.site.relayed, row.site.behind) == (True, 7, 9, 1)
    drawn = shown(Screen(view))
    assert "27 of 30 idle, 2 importing, 1 blocked" in drawn
    assert "1 of the 30 subscribers of the site needs an operator: berlin/edge-7 (blocked)" in drawn
    assert "callboard status berlin" in drawn
    tree = shown(site_tree(row.site))
    assert "berlin, 30 subscribers, as of 0 s ago: 27 of 30 idle, 2 importing, 1 blocked" in tree
    assert "its disk is full" in tree
    assert "29 more are not named" in tree


def test_what_is_said_of_a_site_is_as_old_as_the_announcement_or_as_the_last_survey_that_succeeded(site: Any) -> None:
    site.pass_time(5)
    assert site.row("berlin").site.age_s == pytest.approx(5, abs=1)
    old = report(site, time_ns=site.now_ns - 95 * 10**9, problem="no route to host")
    site.announce("berlin", 3, State.IDLE, site=old)
    row = site.row("berlin")
    assert row.site.age_s == pytest.approx(95, abs=0.5)
    told = "cannot look at its site, postgresql://berlin/board (no route to host); its figures are 95 s old"
    assert told in row.troubles[0].what
    site.announce("berlin", -1, State.IDLE, site=SiteReport(log_id="", problem="no route to host"))
    row = site.row("berlin")
    assert (row.site.age_s, row.site.subscribers) == (-1, 0)
    assert "nothing is known of it yet" in row.troubles[0].what
    assert "not known yet" in shown(Screen(site.status()))


@pytest.mark.parametrize("relayed", [9, 10])
def test_an_idle_relay_that_has_relayed_all_is_not_blamed_for_its_site(site: Any, relayed: int) -> None:
    site.announce("berlin", 3, State.IDLE, site=report(site, relayed=relayed, needs=0))
    site.pass_time(120)
    site.announce("berlin", 3, State.IDLE, site=report(site, relayed=relayed, needs=0))
    what = " ".join(trouble.what for trouble in site.row("berlin").troubles)
    assert ("reports that it has processed everything, but has not" in what) == (relayed == 9)


def test_a_trim_leaves_a_gap_only_before_what_the_relay_itself_has_read(site: Any) -> None:
    site.announce("berlin", 3, State.STOPPED, site=report(site))
    site.trim(below=9)
    assert "gap" not in site.row("berlin").reason
    site.trim(below=11)
    row = site.row("berlin")
    assert row.reason.startswith("was gap: packages 10 to 10 were trimmed")
    commands = [remedy.command for trouble in row.troubles for remedy in trouble.remedies]
    assert "callboard run relay berlin --to URL --ledger /srv/www --on-gap earliest" in commands
    assert not any("seed" in command for command in commands)


def test_the_retention_forecast_is_of_what_is_not_relayed_yet(site: Any) -> None:
    site.pass_time(100)
    rows = site.status().subscribers

    def forecast() -> Any:
        return site.simulation.run(
            retention_forecast(site.log, site.topics.package, rows, Retention(older_than_s=1000), site.now_ns)
        )

    [left] = forecast()
    assert left.left_s == pytest.approx(900, abs=1)
    site.announce("berlin", 3, State.IDLE, site=report(site, relayed=10))
    rows = site.status().subscribers
    assert forecast() == []


def test_a_relay_on_another_log_has_no_position_here(site: Any) -> None:
    site.announce("berlin", 3, State.IDLE, site=report(site), log_id="L0")
    row = site.row("berlin")
    assert (row.offset, row.site.relayed, row.site.rows, row.site.subscribers) == (-1, -1, (), 30)


def test_packages_for_a_subscriber_of_the_site_are_in_the_queue_of_its_relay(site: Any) -> None:
    site.announce("edge-1", 10)
    site.announce("berlin", 10, State.IDLE, site=report(site, relayed=10))
    for to in (("berlin/edge-1",), ("berlin/edge-1", "berlin"), ("berlin/edge-1", "berlin/edge-2"), ("paris/edge-1",)):
        site.package(recipients=to)
    site.package(recipients=("edge-1",))
    assert (site.row("berlin").lag_packages, site.row("edge-1").lag_packages) == (3, 1)


def test_the_metrics_tell_of_sites_and_only_of_states_that_there_are(site: Any) -> None:
    counts = (StateCount(state="idle", subscribers=27), StateCount(state="made\nup", subscribers=3))
    site.announce("berlin", 3, State.IDLE, site=report(site, counts=counts))
    text = exposed(board_metrics(site.status(), {}, {}))
    assert 'callboard_site_subscribers{state="idle",subscriber="berlin"} 27.0' in text
    assert "made" not in text
    for name, value in (("needs", 1.0), ("errors", 0.0), ("relayed", 9.0), ("age_seconds", "")):
        assert f'callboard_site_{name}{{subscriber="berlin"}} {value}' in text


def test_a_relay_reads_from_its_own_position(site: Any) -> None:
    from callboard.board.read.status.status import members

    [member] = site.ask(lambda agent: members(agent, "L1", 30))
    assert (member.announcement.offset, as_reader(member).announcement.offset) == (3, 9)
