"""A request id stands for one request: a different request under the same id is refused, not reported as shipped."""

from callboard.actors.publisher.intake.answers import LOOK_BACK
from callboard.backends.log import Bounds, Capability, Log
from callboard.board.read.log.log_records import opened, record_at
from callboard.board.read.queues.queue_sizes import log_bounds
from callboard.content.placed import within
from callboard.errors import OffsetOutOfRange, RequestRefused
from callboard.messages.distribution.mailbox import DistributeRequest
from callboard.messages.distribution.topic_messages import PackageMessage


async def demand_same_request(
    log: Log, topic: str, request: DistributeRequest, offset: int, *, part: bool = False
) -> None:
    """Check that the request is the one that the package was appended for; it may be a ``part`` of what was requested.

    The same request may come from another user, and the folder may have changed since. If the log no longer has the
    package, the request counts as the same.

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
    if part and all(any(within(path, asked_for) for asked_for in request.paths) for path in package.paths):
        asked |= {"paths": shipped["paths"], "deep": shipped["deep"]}
    different = [name for name in asked if asked[name] != shipped[name]]
    if different and (different != ["source"] or (asked["source"] and shipped["source"])):
        raise RequestRefused(
            f"request id {request.request_id!r} was used before, for a different request "
            f"({', '.join(different)}): {package.kind.name} at offset {offset}; nothing was shipped, so choose a new "
            "id",
            code="id_taken",
        )


async def told_of_id(log: Log, topic: str, request_id: str, offset: int, before: Bounds) -> str:
    """The note for an answer under this id when the log may have lost what the id stands for; empty otherwise.

    Args:
        log: where the package is, or was.
        topic: the topic of packages.
        request_id: the id of the request.
        offset: the offset in the answer.
        before: the bounds of the topic before the request.
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
        known = f"only the newest {LOOK_BACK} offsets were searched for it"
    elif before.first > 1:
        known = f"the log is trimmed up to offset {before.first - 1}"
    else:
        return ""
    return (
        f"request id {request_id!r} was shipped now, at offset {offset}: {known}, so if it was used before that, it is "
        "shipped twice; check the subscribers, and repeat requests sooner"
    )


def _sense(it: DistributeRequest | PackageMessage, source: str) -> dict[str, object]:
    """The fields that identify the request."""
    return {
        "kind": it.kind,
        "paths": frozenset(it.paths),
        "deep": frozenset(it.deep_paths),
        "recipients": frozenset(it.recipients),
        "metadata": dict(it.metadata),
        "source": source,
    }
