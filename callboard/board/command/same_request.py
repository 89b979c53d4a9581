"""A request id stands for one request: under the same id another one is refused, not answered as if it were shipped."""

from callboard.actors.publisher.intake.answers import LOOK_BACK
from callboard.backends.log import Bounds, Capability, Log
from callboard.board.read.log.log_records import opened, record_at
from callboard.board.read.queues.queue_sizes import log_bounds
from callboard.errors import OffsetOutOfRange, RequestRefused
from callboard.messages.distribution.mailbox import DistributeRequest
from callboard.messages.distribution.topic_messages import PackageMessage


async def demand_same_request(log: Log, topic: str, request: DistributeRequest, offset: int) -> None:
    """Compare the request with the package that it was answered with.

    What the folder holds may have changed since, and somebody else may ask: it is the same request all the same. So it
    is, as far as can be told, if the log has the package no more.

    Raises:
        RequestRefused: the package is that of another request.
    """
    try:
        package = opened(await record_at(log, topic, offset))
    except OffsetOutOfRange:
        return
    if not isinstance(package, PackageMessage):
        return
    asked, shipped = _sense(request, request.source_name), _sense(package, package.source)
    different = [name for name in asked if asked[name] != shipped[name]]
    if different and (different != ["source"] or (asked["source"] and shipped["source"])):
        raise RequestRefused(
            f"request id {request.request_id!r} was used before, for a request that is another one "
            f"({', '.join(different)}): {package.kind.name} at offset {offset}; nothing was shipped, so choose a new "
            "id", code="id_taken"
        )


async def told_of_id(log: Log, topic: str, request_id: str, offset: int, before: Bounds) -> str:
    """What is to be said of an answer under this id when the log may have lost what the id stands for.

    Args:
        log: where the package is, or was.
        topic: the topic of packages.
        request_id: what the request was made under.
        offset: what it was answered with.
        before: the bounds of the topic before it was made.
    """
    now = await log_bounds(log, topic)
    if offset < before.end:
        if offset >= now.first:
            return ""
        return (
            f"request id {request_id!r} was shipped before, at offset {offset}, and that package is trimmed from the "
            f"log, which begins at {now.first}; nothing was shipped this time, so choose a new id to ship it again"
        )
    if Capability.KEYS not in log.capabilities and before.end - before.first > LOOK_BACK:
        known = f"only the newest {LOOK_BACK} offsets were looked through for it"
    elif before.first > 1:
        known = f"the log is trimmed up to offset {before.first - 1}"
    else:
        return ""
    return (
        f"request id {request_id!r} was shipped now, at offset {offset}: {known}, so if it was used before that, it is "
        "shipped twice; look at the subscribers, or repeat requests sooner"
    )


def _sense(it: DistributeRequest | PackageMessage, source: str) -> dict[str, object]:
    """What makes it this request and no other."""
    return {
        "kind": it.kind,
        "paths": frozenset(it.paths),
        "deep": frozenset(it.deep_paths),
        "recipients": frozenset(it.recipients),
        "metadata": dict(it.metadata),
        "source": source,
    }
