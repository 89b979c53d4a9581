"""Compares what publishers show of their queues with a simple count of the log."""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress

from callboard.actors.publisher import roles
from callboard.actors.publisher.errors.error_queue import FAILURES
from callboard.actors.subscriber.reporting.announcement import LEFT_MAX
from callboard.errors import NotAnswered
from callboard.messages.distribution.fleet_mail import ErrorsQuery, FleetQuery
from callboard.messages.distribution.ledger import GivenUp, HeldPackage, HookDue, Ledger
from callboard.messages.distribution.queue_mail import QueueQuery, QueueSize, Sizes, SizesQuery
from callboard.messages.distribution.topic_messages import Kind, PackageStatusMessage
from callboard.messages.question import A, Question
from callboard.testing.simulation.distribution.fleet import Fleet
from callboard.testing.simulation.distribution.truth import Sent

ASK_S = 15.0
"""Virtual seconds for an answer: a read of the log may be under way, or fail."""
AGREE_S = 90.0
"""Virtual seconds within which views must agree with the log once nothing happens any more."""
AGAIN_S = 1.0


async def look(fleet: Fleet, publisher: str) -> None:
    """Check every queue now: it must be right as far as the publisher has read.

    While the log is exchanged, the publisher can reach neither log, and shows what was on the former.
    """
    queues = _queues(fleet)
    sizes = await _ask(fleet, publisher, roles.QUEUE_CACHE, SizesQuery(queues=queues))
    if isinstance(sizes, Sizes) and not sizes.problem:
        for queue in sizes.queues:
            within = [offset for offset in _of(fleet, queue) if offset <= queue.newest]
            least = sum(offset >= fleet.first() for offset in within)
            right = queue.size <= len(within) and least <= queue.size + queue.uncounted
            right = right or (fleet.scene.unsettled and _was(fleet, queue))
            fleet.scene.demand(right, "a queue has what is on the log", f"{queue}, and there is {within}")


async def agree(fleet: Fleet) -> None:
    """Wait until every publisher's views are exactly right."""
    for name in fleet.publishers:
        problem = "never looked"
        with suppress(TimeoutError):
            async with asyncio.timeout(AGREE_S):
                while problem := await _disagreement(fleet, name):  # noqa: ASYNC110  # views have no events
                    await asyncio.sleep(AGAIN_S)
        fleet.scene.demand(not problem, "views agree with the log", f"{name}: {problem}")


async def _disagreement(fleet: Fleet, name: str) -> str:
    return (
        await _wrong_queues(fleet, name)
        or await _wrong_errors(fleet, name)
        or await _wrong_fleet(fleet, name)
        or (name in fleet.notifying and fleet.events.missing(name))
        or ""
    )


async def _wrong_queues(fleet: Fleet, name: str) -> str:
    for queue in _queues(fleet):
        query = QueueQuery(after=queue.after, publisher=queue.publisher, subscriber=queue.subscriber, limit=1000)
        page = await _ask(fleet, name, roles.QUEUE_CACHE, query)
        expected = [offset for offset in _of(fleet, queue) if offset >= fleet.first()]
        shown = [each.offset for each in page.packages] if page is not None else page
        if shown != expected or page is None or page.queue.size != len(expected):
            return f"the queue {queue} is {shown}, not {expected}"
    return ""


async def _wrong_errors(fleet: Fleet, name: str) -> str:
    page = await _ask(fleet, name, roles.STATUS_WATCHER, ErrorsQuery(limit=1000))
    end = fleet.scene.end()  # what is reported late of another log may lie beyond it
    expected = sorted(
        (status.subscriber, status.offset, status.status)
        for statuses in fleet.scene.statuses.values()
        for status in _last(statuses.values())
        if status.status in FAILURES and fleet.first() <= status.offset < end
    )
    if page is None:
        return "no errors: no answer"
    # A host may repeat a status from so long ago that the original was trimmed. A new reader takes it for new.
    unknown = fleet.scene.shortening.may_be_landed() - {(status.subscriber, status.offset) for status in page.errors}
    expected = [error for error in expected if error[:2] not in unknown]
    shown = sorted(
        error
        for status in page.errors
        if (error := (status.subscriber, status.offset, status.status)) in expected
        or (fleet.first() <= status.offset < end and _identity(status) not in fleet.scene.shortening.gone)
    )
    return "" if shown == expected else f"the errors are {shown}, not {expected}"


async def _wrong_fleet(fleet: Fleet, name: str) -> str:
    view = await _ask(fleet, name, roles.FLEET, FleetQuery())
    expected = {edge.subscriber: _stands(edge.oracle.ledger) for edge in fleet.edges.values() if edge.active}
    if view is None:
        return "no fleet: no answer"
    announced = (member.announcement for member in view.members)
    shown = {each.subscriber: (each.offset, each.left, each.hook_offset) for each in announced}
    return "" if shown == expected else f"the fleet is at {shown}, not {expected}"


def _stands(ledger: Ledger) -> tuple[int, tuple[int, ...], int]:
    """A subscriber's position, the unfinished packages behind it, and the first due hook that has failed."""
    packages: list[GivenUp | HeldPackage | HookDue] = [*ledger.given_up, *ledger.held]
    left = sorted(each.offset for each in [*packages, *ledger.hooks, *ledger.failed_hooks])
    failed = [due.offset for due in ledger.hooks if due.last_error]
    return ledger.offset, tuple(left[-LEFT_MAX:]), min(failed, default=-1)


async def _ask(fleet: Fleet, publisher: str, role: str, question: Question[A]) -> A | None:
    agent = fleet.publishers[publisher].agent
    if agent is not None:
        with suppress(NotAnswered):
            return await agent.ask(role, question, ASK_S)
    return None


def _queues(fleet: Fleet) -> tuple[QueueSize, ...]:
    """Every subscriber's queue, and the whole log's, of every publisher and of all."""
    positions = sorted({("", -1), *((edge.subscriber, edge.oracle.ledger.offset) for edge in fleet.edges.values())})
    return tuple(
        QueueSize(publisher=publisher, after=after, subscriber=subscriber)
        for publisher in ("", *fleet.publishers)
        for subscriber, after in positions
    )


def _was(fleet: Fleet, queue: QueueSize) -> bool:
    """Whether a queue is from before the exchange of the log, of which it is unknown what was trimmed.

    Nothing runs while an older copy of the log is put in place, so nothing shows what the copy lacks.
    """
    former, present = fleet.scene.histories[-2:]
    offsets = _among(former.packages, queue)
    return former.log_id != present.log_id and queue.size <= sum(offset <= queue.newest for offset in offsets)


def _of(fleet: Fleet, queue: QueueSize) -> list[int]:
    """The offsets of a queue on the current log."""
    return _among(fleet.scene.packages, queue)


def _among(packages: Mapping[int, Sent], queue: QueueSize) -> list[int]:
    """The offsets of a queue. Undecodable packages are in it, by their header; tests are in none."""
    return sorted(
        offset
        for offset, sent in packages.items()
        if offset > queue.after
        and queue.publisher in ("", sent.act.publisher)
        and _is_for(sent, queue.subscriber)
        and (sent.act.harm == "newer" or sent.act.kind is not Kind.TEST)
    )


def _is_for(sent: Sent, subscriber: str) -> bool:
    """Whether it is for this subscriber, or for one of its site."""
    names = [name.partition("/")[0] for name in sent.act.recipients]
    return not subscriber or not names or subscriber in names


def _identity(status: PackageStatusMessage) -> tuple[str, int]:
    return status.subscriber_instance, status.sequence


def _last(statuses: Iterable[PackageStatusMessage]) -> list[PackageStatusMessage]:
    return list({status.offset: status for status in statuses}.values())
