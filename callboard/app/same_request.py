"""A request id stands for one request: under the same id another one is refused, not answered as if it were shipped."""

from callboard.app.log_records import opened, record_at
from callboard.backends.log import Log
from callboard.errors import OffsetOutOfRange, RequestRefused
from callboard.messages.distribution import PackageMessage
from callboard.messages.mailbox import DistributeRequest


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
            f"({', '.join(different)}): {package.kind.name} at offset {offset}; nothing was shipped, so choose a new id"
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
