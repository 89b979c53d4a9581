"""The importer's part that speaks for a site, if the subscriber is a relay."""

from collections.abc import Iterator
from dataclasses import replace

from callboard.actors.core.decision import After, Done, Failed, Moment, note
from callboard.actors.subscriber.effects import CarryResults, ResultsCarried, SurveySite
from callboard.actors.subscriber.ledger import ledger_changes
from callboard.actors.subscriber.ledger.ledger_state import Change, Decided, LedgerState
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.messages.distribution.mailbox import Report
from callboard.messages.distribution.topic_messages import SiteReport, State
from callboard.messages.event import replaced

SURVEY = "survey"
SURVEY_S = 2.0
"""Between two surveys of the site, at least: what is seen of it from above is that much older."""
SURVEY_REST = 20.0
"""Rest after a survey, in multiples of its duration: a site of ten thousand is surveyed less often."""
SURVEY_REST_MAX_S = 30.0
"""But a server that was slow once is asked again."""
CARRY = "carry"
AGAIN_S = 1.0
"""Between attempts, while the site's log does not answer."""


class Site:
    """Surveys the site from time to time, and carries the results of forwarded commands up.

    The last known position of the whole site is in the ledger: a relay that starts again must not announce that all
    have what it only has itself.
    """

    def __init__(self, settings: SubscriberSettings, state: LedgerState) -> None:
        self._settings, self._state = settings, state
        self.report: SiteReport | None = None
        """The last survey with news; None before the first one."""
        self._resting: set[str] = set()  # what waits for its timer, or is being done
        self._began_s = 0.0
        self._carried = ResultsCarried("", -1)

    def work(self, now: Moment) -> Iterator[Decided]:
        """Begin what is due."""
        ledger = self._state.ledger
        if SURVEY not in self._resting:
            self._resting.add(SURVEY)
            self._began_s = now.mono_s
            yield SurveySite(ledger)
        if CARRY not in self._resting:
            self._resting.add(CARRY)
            yield CarryResults(self._carried.log_id, self._carried.next)

    def rested(self, key: str) -> None:
        """The timer of this has expired."""
        self._resting.discard(key)

    def ended(self, outcome: Done | Failed, now: Moment) -> Iterator[Decided]:
        """The site was surveyed, or results were carried; or it failed."""
        match outcome:
            case Done(SurveySite(), SiteReport() as report):
                if self.report is not None and self.report.problem:
                    yield note("site.answered", site=self._settings.site)
                if self.report is None or report != replaced(self.report, time_ns=report.time_ns):
                    self.report = report
                rest_s = SURVEY_REST * (now.mono_s - self._began_s)
                yield After(SURVEY, min(max(SURVEY_S, rest_s), SURVEY_REST_MAX_S))
                if report.offset != self._state.ledger.site_offset:
                    yield Change(lambda ledger: replace(ledger, site_offset=report.offset))
            case Failed(SurveySite(), error):
                reason = ledger_changes.text(error)
                if self.report is None or not self.report.problem:
                    yield note("site.not_surveyed", "warning", site=self._settings.site, reason=reason)
                self.report = replaced(self.report or self._unknown, problem=reason)
                yield After(SURVEY, AGAIN_S)
            case Done(CarryResults(), ResultsCarried() as carried):
                self._carried = carried
                self._resting.discard(CARRY)
            case Failed(CarryResults(), error):
                yield note("results.not_carried", "warning", reason=ledger_changes.text(error))
                yield After(CARRY, AGAIN_S)

    def add_to(self, report: Report) -> Report:
        """The report of the relay, as one of its whole site."""
        said, ledger = report.announcement, self._state.ledger
        offset = min(ledger.offset, ledger.site_offset)  # also of a site without subscribers: some may have come since
        its, stuck = self.report or self._unknown, said.reason if said.state in (State.WAITING, State.STOPPED) else ""
        message = replaced(
            said,
            offset=offset,
            states=tuple(replaced(each, offset=offset) for each in said.states),
            site=replaced(its, relayed=ledger.offset, place=self._settings.site, problem=its.problem or stuck),
        )
        return replaced(report, announcement=message)

    @property
    def _unknown(self) -> SiteReport:
        ledger = self._state.ledger
        return SiteReport(log_id=ledger.site_log_id, offset=ledger.site_offset)
