"""The questions that a board answers. They write nothing and block no publisher or subscriber."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from callboard.board.context import BoardContext
from callboard.board.read.known_names import demand_publisher
from callboard.board.read.log.ignored import look, sentences
from callboard.board.read.queues import queues
from callboard.board.read.queues.queue_sizes import log_identity
from callboard.board.read.status import status as statuses
from callboard.board.views import BoardStatus, PublisherStatus, Readiness
from callboard.door.limits import ANSWER_S
from callboard.door.questions import asked
from callboard.errors import LogUnavailable
from callboard.messages.distribution.fleet_mail import Liveness, Member

if TYPE_CHECKING:  # a board that is only read does not load these
    from prometheus_client.core import Metric

    from callboard.board.read.explaining import Explanation


async def member(board: BoardContext, subscriber: str, timeout_s: float) -> Member:
    """The subscriber of this name, as seen on this log. Raises ``RequestRefused`` for an unknown one."""
    log_id = await log_identity(board.log, board.topics.package)
    return await statuses.member(await board.viewer(), subscriber, log_id, timeout_s)


async def status(board: BoardContext, timeout_s: float = ANSWER_S) -> BoardStatus:
    """The status of every subscriber ever heard of: what it does, how far behind it is, and why."""
    asked(timeout_s=timeout_s)
    viewer = await board.viewer()
    found = await statuses.board_status(viewer, board.log, board.topics.package, board.now_ns(), timeout_s)
    return replace(found, notes=(*found.notes, *sentences(await look(board.log, board.topics))))


async def known_status(board: BoardContext, timeout_s: float = ANSWER_S) -> BoardStatus:
    """The same, for an answer that has no place for a ``problem``. Raises ``LogUnavailable`` if there is one."""
    found = await status(board, timeout_s)
    if found.problem:
        raise LogUnavailable(found.problem)
    return found


async def readiness(board: BoardContext, subscriber: str, timeout_s: float = ANSWER_S) -> Readiness:
    """Whether the subscriber may serve: it is live, and says so.

    Raises:
        RequestRefused: it was never heard of.
        LogError: the log cannot be read, so it may have said otherwise since.
    """
    asked(subscriber=subscriber, timeout_s=timeout_s)
    await board.log.bounds(board.topics.package)
    found = await statuses.member(await board.viewer(), subscriber, "", timeout_s)
    said, live = found.announcement, found.liveness is Liveness.LIVE
    reason = said.ready_reason if live else f"it is {found.liveness.name.lower()}"
    return Readiness(subscriber, said.ready and live, reason)


async def metrics(board: BoardContext, timeout_s: float = ANSWER_S) -> "Iterator[Metric]":
    """The status as metrics for Prometheus; made when they are taken, in any thread."""
    from callboard.board.events.listeners import listener_states
    from callboard.board.read.status import metrics as figures
    from callboard.board.topology.topology import Topology

    cluster = await Topology(board).view()
    now = await status(board, timeout_s)
    announced = [each.announcement for each in await statuses.members(await board.viewer(), "", timeout_s)]
    topics = board.topics
    names = (topics.package, topics.status, topics.discovery, topics.command)
    bounds = {name: await board.log.bounds(name) for name in names}
    agents = board.agents  # another one may be started meanwhile
    counted = {name: await figures.counters(await agents.publisher(name), timeout_s) for name in agents.publishers}
    listeners = await listener_states(board)
    return figures.board_metrics(now, bounds, counted, announced, await look(board.log, topics), cluster, listeners)


async def queue_entry(board: BoardContext, entry: str) -> dict[str, Any]:
    """The package with this id in any queue, such as ``callboard.package@17``: headers, message, and entries.

    Raises:
        RequestRefused: the id is not that of a package of this board.
        OffsetOutOfRange: the log does not have the package, or no longer has it.
    """
    from callboard.board.read.log.log_records import record_data

    asked(entry=entry)
    topic = board.topics.package
    return await record_data(board.log, board.blobs, topic, queues.entry_offset(topic, entry))


async def cohorts(
    board: BoardContext, publisher: str = "", *, timeout_s: float = ANSWER_S
) -> tuple[PublisherStatus, ...]:
    """How far the slowest subscriber of each cohort is, for this publisher or for each."""
    asked(publisher=publisher)
    await demand_publisher(board.log, board.topics, publisher)
    known = (await known_status(board, timeout_s)).publishers
    return tuple(each for each in known if publisher in ("", each.name))


async def explain(board: BoardContext, subscriber: str, path: str, *, timeout_s: float = ANSWER_S) -> "Explanation":
    """Which package brought the path to the subscriber, or removed it, and what became of newer ones.

    Raises ``RequestRefused`` for a subscriber that was never heard of, and for an invalid path.
    """
    from callboard.board.read import explaining

    asked(subscriber=subscriber, path=path, timeout_s=timeout_s)
    said = (await member(board, subscriber, timeout_s)).announcement
    return await explaining.explain(board.log, board.blobs, board.topics.package, board.topics.status, said, path)
