"""An importer that speaks for a site."""

from dataclasses import replace

import pytest

from callboard.actors.core.effects import FindBounds
from callboard.actors.subscriber.effects import (
    CarryResults,
    ForwardCommand,
    ImportPackages,
    ResultsCarried,
    SaveLedger,
    SurveySite,
)
from callboard.errors import LogUnavailable
from callboard.messages.distribution.ledger import GivenUp
from callboard.messages.distribution.topic_messages import (
    ClearCommand,
    Kind,
    PauseCommand,
    RetryCommand,
    SiteReport,
    State,
    StateCount,
)
from callboard.testing.drivers.subscriber_example import LEDGER, NAME, ImporterDriver, clear, command, package

KNOWN = replace(LEDGER, site_log_id="site-log", site_next=5, site_relayed=9, site_offset=9)
AWAY = LogUnavailable("the site is away")


def relay(ledger: object = KNOWN, **others: object) -> ImporterDriver:
    return ImporterDriver(site="sqlite:///site.db", **others).arrive(ledger)  # type: ignore[arg-type]


def surveyed(it: ImporterDriver, offset: int, **others: object) -> None:
    it.tick("survey") if "survey" in it.timers else None
    said = {"subscribers": 1, **others}
    it.done(SurveySite, SiteReport(log_id="site-log", relayed=offset, offset=offset, **said))  # type: ignore[arg-type]
    it.save_all()


def test_a_subscriber_has_no_site() -> None:
    it = ImporterDriver().arrive()
    assert not it.asks(SurveySite)
    assert not it.asks(CarryResults)
    assert it.report().site is None


def test_a_relay_says_how_far_its_whole_site_is_and_where_it_is_itself() -> None:
    it = relay()
    surveyed(it, 7, subscribers=2, counts=(StateCount(state="idle", subscribers=2),))
    said = it.report()
    assert said.site is not None
    assert (said.offset, said.site.relayed, said.site.offset) == (7, 9, 7)
    assert (said.site.subscribers, said.site.place) == (2, "sqlite:///site.db")


def test_it_says_no_more_of_its_site_than_it_knew_before_it_was_started_again() -> None:
    said = relay(replace(KNOWN, site_offset=4)).report()
    assert said.site is not None
    assert (said.offset, said.site.offset, said.site.relayed) == (4, 4, 9)


def test_it_never_says_that_its_site_is_further_than_itself() -> None:
    it = relay()
    surveyed(it, 12)
    assert it.report().offset == 9


def test_the_position_of_the_site_is_stored() -> None:
    it = relay()
    surveyed(it, 7)
    it.tick("settle")
    it.save_all()
    (saved,) = [effect.ledger for effect in it.effects if isinstance(effect, SaveLedger)][-1:]
    assert saved.site_offset == 7


def test_a_site_without_subscribers_is_as_far_as_its_relay_was_when_there_were_none() -> None:
    it = relay(replace(KNOWN, site_offset=4))
    surveyed(it, 7, subscribers=0)
    assert it.report().offset == 7, "one may have come since"


def test_a_site_that_does_not_answer_is_reported_and_asked_again() -> None:
    it = relay()
    surveyed(it, 7)
    it.tick("survey")
    it.fail(SurveySite, AWAY)
    said = it.report()
    assert said.site is not None
    assert (said.offset, said.site.offset, said.site.problem) == (7, 7, str(AWAY))
    it.tick("survey")
    it.fail(SurveySite, AWAY)
    assert it.notes().count("site.not_surveyed") == 1
    surveyed(it, 8)
    assert it.notes().count("site.answered") == 1
    said = it.report()
    assert said.site is not None
    assert (said.offset, said.site.problem) == (8, "")


def test_a_relay_at_a_gap_goes_on_telling_of_its_site_and_carrying_results() -> None:
    it = ImporterDriver(site="sqlite:///site.db").arrive(KNOWN, first=50)
    assert it.state()[0] is State.GAP
    surveyed(it, 7, needs=1)
    said = it.report()
    assert said.site is not None
    assert (said.site.needs, said.site.problem) == (1, "")
    it.done(CarryResults, ResultsCarried("status-log", 4))
    assert it.asks(CarryResults)


def test_it_surveys_while_it_relays_and_says_what_is_new() -> None:
    it = relay()
    it.read(package(10))
    assert it.asks(ImportPackages) or it.save_all()
    assert it.asks(SurveySite)
    surveyed(it, 7)
    assert "report" in it.timers
    it.tick("report")


def test_a_long_survey_is_followed_by_a_longer_rest() -> None:
    it = relay()
    it.pass_time(1.0)
    surveyed(it, 7)
    assert it.timers["survey"] - it.now.mono_s == pytest.approx(20.0)
    it.pass_time(20.0)
    it.tick("survey")
    it.pass_time(19.0)
    surveyed(it, 8)
    assert it.timers["survey"] - it.now.mono_s == pytest.approx(30.0)


def test_results_are_carried_from_where_it_was_and_again_after_a_failure() -> None:
    it = relay()
    it.done(CarryResults, ResultsCarried("status-log", 4))
    assert it.asked(CarryResults) == CarryResults("status-log", 4)
    it.fail(CarryResults, AWAY)
    assert not it.asks(CarryResults)
    it.tick("carry")
    assert it.asked(CarryResults) == CarryResults("status-log", 4)


def at_site(at: int, **fields: object) -> object:
    message = command(at, **fields)
    return replace(message, command=replace(message.command, subscriber=f"{NAME}/edge"))


def test_a_command_for_the_site_is_forwarded_and_answered_there() -> None:
    it = relay()
    it.order(at_site(1, pause=PauseCommand()))  # type: ignore[arg-type]
    assert it.asked(ForwardCommand).command.subscriber == f"{NAME}/edge"
    it.done(ForwardCommand, "")
    it.save_all()
    assert it.results() == {}
    assert it.state()[0] is not State.PAUSED, "it is not the relay that pauses"


def test_a_command_that_the_relay_cannot_forward_has_its_answer() -> None:
    it = relay()
    it.order(at_site(1, pause=PauseCommand()))  # type: ignore[arg-type]
    it.done(ForwardCommand, "there is no such subscriber")
    it.save_all()
    assert (it.results()["c1"].accepted, it.results()["c1"].reason) == (False, "there is no such subscriber")


def test_commands_keep_their_order_while_the_site_is_away() -> None:
    it = relay()
    it.order(at_site(1, pause=PauseCommand()), at_site(2, clear=ClearCommand(offset=20)))  # type: ignore[arg-type]
    it.fail(ForwardCommand, AWAY)
    assert not it.asks(ForwardCommand)
    it.tick("forward")
    assert it.asked(ForwardCommand).offset == 1
    it.done(ForwardCommand, "")
    it.save_all()
    while it.asks(FindBounds):
        it.find_bounds()
    assert it.asked(ForwardCommand).offset == 2


def test_a_command_for_the_site_of_a_former_relay_is_not_forwarded() -> None:
    it = relay()
    it.order(at_site(1, pause=PauseCommand(), subscriber_instance="former"))  # type: ignore[arg-type]
    it.save_all()
    assert not it.asks(ForwardCommand)
    assert not it.results()["c1"].accepted


def test_a_package_that_a_relay_gave_up_is_not_retried_behind_later_ones() -> None:
    lost = GivenUp(offset=3, publisher="site", package_id="p3")
    it = relay(replace(KNOWN, given_up=(lost,)))
    it.order(command(1, retry=RetryCommand(offset=3)))
    it.save_all()
    result = it.results()["c1"]
    assert not result.accepted
    assert f"callboard log resend 3 --to {NAME}" in result.reason


def test_a_relay_clears_and_skips_what_it_has_not_relayed() -> None:
    it = relay(editable=True)
    it.order(clear(10, at=1))
    it.save_all()
    it.read(package(10), package(11))
    it.save_all()
    assert it.asked(ImportPackages).offsets == (11,)


def test_a_relay_passes_on_packages_for_its_site_or_some_of_it_and_tests() -> None:
    it = relay()
    it.read(
        package(10, recipients=("another",)), package(11, recipients=(f"{NAME}/edge",)),
        package(12, recipients=(NAME,)), package(13, recipients=(f"{NAME}-2/edge",)), package(14, kind=Kind.TEST),
    )  # fmt: skip
    relayed: list[int] = []
    while it.asks(ImportPackages) or it.save_all():
        relayed += it.done(ImportPackages).offsets if it.asks(ImportPackages) else ()
    assert relayed == [11, 12, 14]
