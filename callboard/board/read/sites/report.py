"""What a relay says of its site, as a view."""

from dataclasses import replace

from callboard.backends.address import shown
from callboard.board.read.status.ages import age_s
from callboard.board.site_status import SiteStatus, SiteSubscriber
from callboard.messages.distribution import topic_messages as messages
from callboard.messages.distribution.fleet_mail import Member
from callboard.messages.distribution.topic_messages import SiteReport
from callboard.messages.headers import SEPARATOR


def site_status(member: Member, behind: int, now_ns: int) -> SiteStatus | None:
    """The site that a relay speaks for, of which ``behind`` packages are not relayed yet; None for others."""
    name, report = member.announcement.subscriber, member.announcement.site
    if report is None:
        return None
    counts = [(each.state, max(each.subscribers, 0)) for each in report.counts]
    found = SiteStatus(
        name=name,
        subscribers=max(report.subscribers, 0),
        states=dict(sorted(counts, key=lambda each: (-each[1], each[0]))),
        needs=max(report.needs, 0),
        errors=max(report.errors, 0),
        relayed=report.relayed,
        behind=behind,
        age_s=_age_s(member, report, now_ns),
        problem=report.problem,
        place=shown(report.place),
        log_id=report.log_id,
        rows=tuple(_row(name, each, now_ns) for each in report.worst),
    )
    return replace(found, missing=_missing(found))


def in_words(site: SiteStatus) -> str:
    """How many of its subscribers are in which state: ``27 of 30 idle, 2 importing, 1 blocked``."""
    if not site.states:
        return "not known yet" if site.age_s < 0 else "no subscriber yet"
    first, *others = (f"{number} {state}" for state, number in site.states.items())
    return ", ".join((first.replace(" ", f" of {site.subscribers} ", 1), *others))


def _age_s(member: Member, report: SiteReport, now_ns: int) -> float:
    """A report without a problem is as old as the announcement: it is renewed only when something has changed."""
    if not report.time_ns:
        return -1.0
    return max(age_s(member.seen_ns, now_ns), age_s(report.time_ns, now_ns) if report.problem else 0.0)


def _row(site: str, said: messages.SiteSubscriber, now_ns: int) -> SiteSubscriber:
    waits = said.packages > 0 and said.oldest_ns > 0
    return SiteSubscriber(
        name=f"{site}{SEPARATOR}{said.name}",
        state=said.state,
        reason=said.reason,
        offset=said.offset,
        lag_packages=said.packages,
        lag_s=age_s(said.oldest_ns, now_ns) if waits else 0.0 if said.packages == 0 else -1.0,
        attempts=said.attempts,
        errors=said.errors,
        needs=said.needs,
        editable=said.editable,
    )


def _missing(site: SiteStatus) -> str:
    left = site.subscribers - len(site.rows)
    verb = "is" if left == 1 else "are"
    return (
        f"{left} more {verb} not named: the relay names only a few that need an operator or are behind" if left else ""
    )
