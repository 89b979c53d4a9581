"""Questions about ``SITE/SUBSCRIBER``: answered by the site's log if that can be read, else by what its relay says.

All offsets in the answers are of this board's log, as commands need them; -1 stands for packages of other origin.
"""

import asyncio
import re
import shlex
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from inspect import signature
from typing import Any, TypeVar

from callboard.actors.worlds.relay.offsets import Offsets
from callboard.actors.worlds.relay.survey import survey
from callboard.board.context import BoardContext
from callboard.board.page import AsOf, Page
from callboard.board.read import questions
from callboard.board.read.explaining import Explanation, Involved
from callboard.board.read.queues.queues import entry_id
from callboard.board.read.sites.report import site_status as view_of
from callboard.board.read.sites.site import SiteOnBoard
from callboard.board.read.sites.site_board import AWAY, AtSite, find_at_site
from callboard.board.site_status import SiteStatus
from callboard.board.views import FailedPackage, QueuedPackage, QueueView, Remedy, Trouble
from callboard.door.limits import ANSWER_S
from callboard.door.names import unknown
from callboard.door.questions import asked
from callboard.errors import RequestRefused
from callboard.messages.event import replaced
from callboard.messages.headers import SEPARATOR
from callboard.messages.relayed import site_of

FROM_HERE = ("retry", "resume", "throttle", "queue", "errors")
"""Commands to a subscriber that can also be given here, unless they are about an offset."""

OFFSETS = re.compile(r"\b(?:package|offset) \d")

Question = Callable[..., Awaitable[Any]]
Listed = TypeVar("Listed", QueuedPackage, FailedPackage)


async def ask_at_site(question: Question, board: BoardContext, *args: Any, **options: Any) -> Any:
    """The answer of the site, made one of this board; or, without the site's log, what is known here."""
    bound = signature(question).bind(board, *args, **options)
    seen, told = ANSWERS[question.__name__]
    asked(subscriber=bound.arguments["subscriber"])
    timeout_s = bound.arguments.get("timeout_s", ANSWER_S)
    its = await find_at_site(board, bound.arguments["subscriber"], timeout_s)
    if its.board is None:
        return told(its)
    bound.arguments |= {"board": its.board, "subscriber": its.name}
    again = partial(ask_at_site, question) if SEPARATOR in its.name else question
    try:
        with its.naming_site():
            async with asyncio.timeout(timeout_s):
                return await seen(its, await again(*bound.args, **bound.kwargs))
    except AWAY as error:
        return told(its.away(error))


async def site_status(board: BoardContext, site: str, *, timeout_s: float = ANSWER_S) -> SiteStatus:
    """The site of this relay, or what is known of one ``SITE/SUBSCRIBER``, with all of its subscribers by name if the
    site's log is configured and can be read, else with those that the relay names.

    Raises ``RequestRefused`` for a name that is not one of a relay, or not one of its site.
    """
    asked(subscriber=site, timeout_s=timeout_s)
    its = await find_at_site(board, site, timeout_s)
    rows = {row.name: row for row in (await questions.status(board, timeout_s)).subscribers}
    found = rows[site_of(site)].site if site_of(site) in rows else None
    found = found or its.status
    if its.board is not None:
        try:
            async with asyncio.timeout(timeout_s):
                found = await _surveyed(its, its.board, found.behind)
        except AWAY as error:
            its = its.away(error)
    if found.missing and its.why:
        found = replace(found, missing=f"{found.missing}; {its.why}")
    if not its.name:
        return found
    meant = tuple(row for row in found.rows if f"{row.name}{SEPARATOR}".startswith(f"{site}{SEPARATOR}"))
    if not meant:
        raise its.not_told if found.missing else unknown("subscriber", site, [row.name for row in found.rows])
    return replace(found, rows=meant, missing="")


async def _surveyed(its: AtSite, there: BoardContext, behind: int) -> SiteStatus:
    """The site as its log tells, with all of its subscribers."""
    said = its.relay.announcement
    offsets = Offsets(there.log, there.topics.package, said.subscriber, its.log_id)
    report = await survey(await SiteOnBoard(there).members(), offsets, its.status.relayed, everyone=True)
    now_ns = its.here.now_ns()
    report = replace(report, time_ns=now_ns, place=its.status.place)
    found = view_of(replaced(its.relay, seen_ns=now_ns, announcement=replaced(said, site=report)), behind, now_ns)
    assert found is not None
    return found


# Queues.


async def _queue_seen(its: AtSite, view: QueueView) -> QueueView:
    topic = its.here.topics.package
    return replace(
        view,
        subscriber=its.full_name,
        items=tuple(replace(each, topic=topic) for each in await _moved(its, view.items)),
        troubles=tuple(_trouble(its, each) for each in view.troubles),
        as_of=AsOf(-1, view.as_of.time_ns),
    )


def _queue_told(its: AtSite) -> QueueView:
    if (row := its.told) is None:
        raise its.not_told
    return QueueView(
        items=(),
        as_of=_as_of(its),
        size=row.lag_packages,
        missing=f"{its.when}; {its.unknown('its queue', 'queue {}')}",
        subscriber=row.name,
        publisher="",
        state="idle" if row.lag_packages == 0 else "blocked" if row.state in ("blocked", "gap") else "running",
        length=-1,
        oldest_s=row.lag_s,
        troubles=(Trouble(f"{row.state}: {row.reason}", needs=row.needs),) if row.reason else (),
    )


# Errors.


async def _errors_seen(its: AtSite, page: Page[FailedPackage]) -> Page[FailedPackage]:
    items = [replace(each, subscriber=its.full_name) for each in await _moved(its, page.items)]
    return replace(page, items=tuple(items), as_of=AsOf(-1, page.as_of.time_ns))


def _errors_told(its: AtSite) -> Page[FailedPackage]:
    if (row := its.told) is None:
        raise its.not_told
    return Page(
        items=(),
        as_of=_as_of(its),
        size=row.errors,
        missing=f"{its.when}; {its.unknown('its error queue', 'errors {}')}",
    )


# Explanations.


async def _explained(its: AtSite, found: Explanation) -> Explanation:
    involved = (*found.newer, *([found.brought] if found.brought else ()))
    at = await its.origins(each.offset for each in involved)

    def here(each: Involved) -> Involved:
        return replace(each, offset=at.get(each.offset, -1))

    return replace(
        found,
        subscriber=its.full_name,
        offset=await its.position(found.offset),
        brought=found.brought and here(found.brought),
        newer=tuple(map(here, found.newer)),
        looked_back_to=await its.position(found.looked_back_to - 1) + 1,
    )


def _not_explained(its: AtSite) -> Explanation:
    raise RequestRefused(its.unknown(f"what {its.full_name} has", "explain {} PATH"), code="at_site")


async def _moved(its: AtSite, items: Iterable[Listed]) -> list[Listed]:
    """The items with their places on the log here."""
    items, topic = tuple(items), its.here.topics.package
    at = await its.origins(each.offset for each in items)
    entries = {offset: entry_id(topic, origin) for offset, origin in at.items()}
    return [replace(each, entry=entries.get(each.offset, ""), offset=at.get(each.offset, -1)) for each in items]


def _as_of(its: AtSite) -> AsOf:
    return AsOf(-1, its.here.now_ns() - int(max(its.status.age_s, 0.0) * 1e9))


def _trouble(its: AtSite, trouble: Trouble) -> Trouble:
    """The trouble with commands that can be given here, or that say where."""
    what = f"{trouble.what} (offsets are of the site's log)" if OFFSETS.search(trouble.what) else trouble.what
    return replace(trouble, what=what, remedies=tuple(_remedy(its, each) for each in trouble.remedies))


def _remedy(its: AtSite, remedy: Remedy) -> Remedy:
    program, command, *words = shlex.split(remedy.command)
    about_offset = command == "retry" and any(map(str.isdigit, words))
    if command not in FROM_HERE or words[:1] != [its.name] or about_offset:
        return replace(remedy, does=f"{remedy.does}, at the site")
    return replace(remedy, command=shlex.join((program, command, its.full_name, *words[1:])))


ANSWERS: Mapping[str, tuple[Question, Callable[[AtSite], Any]]] = {
    "queue": (_queue_seen, _queue_told),
    "errors": (_errors_seen, _errors_told),
    "explain": (_explained, _not_explained),
}
"""By question: how to translate the site's answer, and the answer without the site's log."""
