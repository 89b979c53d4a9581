"""What a relay tells of its site."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice

from callboard.actors.worlds.relay.offsets import Offsets
from callboard.actors.worlds.relay.site_board import SiteMember
from callboard.content.package_format.manifest import VERSION
from callboard.messages.distribution.topic_messages import SiteReport, SiteSubscriber, StateCount
from callboard.messages.headers import SEPARATOR

WORST_MAX = 5
"""Subscribers named in a report, of which there is one every few seconds, however large the site."""

LOGS_MAX, LOGS_CHARS_MAX = 1000, 64_000
"""Logs named in a report, and characters of their ids, by which a relay recognises reports that came back to it."""

COUNT_MAX = 10**9
"""The most that is believed of a further relay: the sum of what several claim must be one that can be told."""

STATES_MAX = 50
"""States that are counted; there are fewer, unless a further relay makes them up."""


async def survey(
    members: Sequence[SiteMember], offsets: Offsets, position: int, *, everyone: bool = False
) -> SiteReport:
    """The report of a site with these subscribers.

    Args:
        members: of the site, as known there after the relay had processed everything up to ``position``.
        offsets: what the relay has appended there.
        position: on the log that the relay reads.
        everyone: name all of its subscribers.
    """
    members = [each for each in members if each.report is None or offsets.source not in each.report.logs]
    log_id = await offsets.log.identity(offsets.topic)
    counting = [each.offset for each in members if each.counts]
    lowest = await _lacking(min(counting, default=None), offsets, position)
    leaves = [leaf for each in members for leaf in _leaves(each)]
    worst = sorted(filter(None if everyone else _is_noteworthy, leaves), key=_by_trouble)
    worst = worst if everyone else worst[:WORST_MAX]
    counts = sum((Counter(_counts(each)) for each in members), Counter[str]())
    states = sorted(counts.most_common(STATES_MAX))
    return SiteReport(
        log_id=log_id,
        logs=tuple(_logs(log_id, members)),
        relayed=position,
        offset=lowest[0],
        oldest_ns=lowest[1],
        subscribers=counts.total(),
        counts=tuple(StateCount(state=state, subscribers=number) for state, number in states),
        needs=sum(max(each.needs, _believed(each.report.needs) if each.report else 0) for each in members),
        errors=sum(_believed(each.report.errors if each.report else each.errors) for each in members),
        package_version=min((each.package_version for each in members), default=VERSION),
        worst=tuple([replace(each, offset=(await _lacking(each.offset, offsets, position))[0]) for each in worst]),
    )


async def _lacking(offset: int | None, offsets: Offsets, position: int) -> tuple[int, int]:
    """Of a subscriber that has processed the site's log up to ``offset``: up to where it has that of the relay, and
    when the first package that it lacks was appended, 0 if it lacks none.
    """
    found = None if offset is None else await offsets.first_since(offset + 1)
    if found is None or found.source_offset > position:
        return position, 0
    return found.source_offset - 1, found.record.time_ns


def _leaves(member: SiteMember) -> Iterator[SiteSubscriber]:
    """The subscriber, and those that it names, if it is a relay."""
    yield SiteSubscriber(
        name=member.name,
        state=member.state,
        reason=member.reason,
        offset=member.offset,
        packages=member.packages,
        oldest_ns=member.oldest_ns,
        attempts=member.attempts,
        errors=member.errors,
        needs=member.needs,
        editable=member.editable,
    )
    if member.report is not None:
        for each in member.report.worst:
            yield replace(each, name=f"{member.name}{SEPARATOR}{each.name}")


def _is_noteworthy(each: SiteSubscriber) -> bool:
    return each.needs or bool(each.packages) or bool(each.errors)


def _by_trouble(each: SiteSubscriber) -> tuple[bool, int, str]:
    return not each.needs, -each.packages, each.name


def _counts(member: SiteMember) -> dict[str, int]:
    if member.report is None:
        return {member.state: 1}
    return {count.state: _believed(count.subscribers) for count in member.report.counts[:STATES_MAX]}


def _believed(number: int) -> int:
    return min(max(number, 0), COUNT_MAX)


def _logs(log_id: str, members: Iterable[SiteMember]) -> Iterator[str]:
    """The site's log, and those of the sites beyond, as far as they can be told."""
    below = (each.report.logs for each in members if each.report is not None)
    left = LOGS_CHARS_MAX
    for each in islice(dict.fromkeys(chain((log_id,), *below)), LOGS_MAX):
        if len(each) <= left:
            left -= len(each)
            yield each
