"""Questions about subscribers and publishers."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from callboard.backends.repositories.paths import PATH_BYTES_MAX
from callboard.board.entities.health.fold_report import FoldReport
from callboard.board.page import Page
from callboard.board.read import questions
from callboard.board.read.explaining import Explanation
from callboard.board.read.publisher_log import LogLine
from callboard.board.read.status.selection import STATES, SelectedStatus, Selection, Sort
from callboard.board.site_status import SiteStatus
from callboard.board.views import FailedPackage, PublisherStatus, QueueView, Readiness, SubscriberStatus
from callboard.door.limits import ANSWER_S, ID_CHARS_MAX, NAME_CHARS_MAX
from callboard.door.names import unknown
from callboard.door.rules import path
from callboard.web.api.parameters import (
    AFTER,
    LIMIT,
    OF_PUBLISHER,
    OF_SUBSCRIBER,
    SUBSCRIBER,
    choice,
    flag,
    named,
    ruled,
    text,
)
from callboard.web.api.read import Read
from callboard.web.api.reads.log import RecordDetails

if TYPE_CHECKING:
    from callboard.board.board import Callboard

PATH = replace(ruled("path", "Such as /blog/a.html.", path, PATH_BYTES_MAX, r"/[^\x00]*"), is_needed=True)

NAMES_MAX = 20
"""Patterns of one request, which also have to fit its line."""


async def _status(board: "Callboard", *, sort: str = Sort.NEEDS, **chosen: Any) -> SelectedStatus:
    return Selection(**chosen, sort=Sort(sort)).status(await board.status())


async def _subscriber(board: "Callboard", *, subscriber: str) -> SubscriberStatus:
    rows = {row.name: row for row in (await questions.known_status(board.context)).subscribers}
    if subscriber not in rows:
        await questions.member(board.context, subscriber, ANSWER_S)  # says why
        raise unknown("subscriber", subscriber, rows)
    return rows[subscriber]


async def _ready(board: "Callboard", *, subscriber: str) -> Readiness:
    return await questions.readiness(board.context, subscriber)


async def _publisher_log(board: "Callboard", *, publisher: str, limit: int) -> list[LogLine]:
    return await board.publisher(publisher).log(limit)


FLEET = (
    Read("status", "/status", "Every subscriber and publisher: state, how far behind, why, and which command helps.",
         SelectedStatus, _status,
         (text("name", "Only subscribers of this name, or pattern.", NAME_CHARS_MAX, to="names").several(NAMES_MAX),
          choice("state", "Only those in this state.", *STATES, to="states").several(len(STATES)),
          flag("needs", "Only those that need attention."),
          choice("sort", "The worst come first, by this.", *Sort))),
    Read("ready", "/subscribers/{subscriber}/ready", "Whether a subscriber may serve; `attention` if not.",
         Readiness, _ready, (SUBSCRIBER,), lambda found: not found.ready),
    Read("queue", "/subscribers/{subscriber}/queue", "What a subscriber has not processed yet, oldest first.",
         QueueView, lambda board, **given: board.queue(**given), (SUBSCRIBER, OF_PUBLISHER, AFTER, LIMIT)),
    Read("explain", "/subscribers/{subscriber}/explanation",
         "Which package brought a path to a subscriber, and what happened to newer ones.",
         Explanation, lambda board, **given: board.explain(**given),
         (SUBSCRIBER, PATH)),
    Read("site", "/subscribers/{subscriber}/site",
         "The site of a relay, with the subscribers that are known by name; or what is known of SITE/SUBSCRIBER.",
         SiteStatus, lambda board, subscriber: board.site_status(subscriber), (SUBSCRIBER,)),
    Read("subscriber", "/subscribers/{subscriber}", "One subscriber; of one at a site, see `site`.",
         SubscriberStatus, _subscriber, (SUBSCRIBER,)),
    Read("queue_entry", "/queue/{entry}", "The package with this id in any queue: headers, message and entries.",
         RecordDetails, lambda board, **given: board.queue_entry(**given),
         (text("entry", "Such as callboard.package@17.", ID_CHARS_MAX, least=1),)),
    Read("errors", "/errors", "The packages that subscribers gave up, quarantined or could not finish, and why.",
         Page[FailedPackage], lambda board, **given: board.errors(**given),
         (OF_SUBSCRIBER, OF_PUBLISHER, AFTER, LIMIT)),
    Read("cohorts", "/cohorts", "How far the slowest subscriber of each cohort is, for each publisher.",
         tuple[PublisherStatus, ...], lambda board, **given: board.cohorts(**given), (OF_PUBLISHER,)),
    Read("publisher_log", "/publishers/{publisher}/log",
         "The newest errors that subscribers reported of a publisher's packages, and what all of them have.",
         tuple[LogLine, ...], _publisher_log, (named("publisher", "The publisher."), LIMIT)),
    Read("folds", "/folds", "How far the entities, processes, projections and reactions are that run.",
         tuple[FoldReport, ...], lambda board: board.folds()),
)  # fmt: skip
