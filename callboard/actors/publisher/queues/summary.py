"""A package without its content, read from its record."""

from itertools import accumulate, takewhile

from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.bounds import clipped
from callboard.messages.distribution.plain_summaries import USER_CHARS_MAX, plain_summary
from callboard.messages.distribution.queue_mail import PackageSummary
from callboard.messages.distribution.topic_messages import PackageMessage
from callboard.messages.headers import open_record, told_in
from callboard.messages.record import Record

PATHS_CHARS_MAX = 4000
"""Characters of paths in a summary, for each kind of path. Ten thousand summaries are remembered, a thousand make a
page, and a package can have 2 MB of paths."""

PATH_OVERHEAD = 16
"""What a path counts in addition to its characters."""


def summarise(record: Record) -> PackageSummary:
    """What a queue shows of a record. One that cannot be decoded is never dropped: ``problem`` says why, and publisher
    and recipients come from the headers, by which subscribers skip it, too.
    """
    if (plain := plain_summary(record)) is not None:
        return plain
    try:
        message = open_record(record, PackageMessage)
    except (SchemaTooNew, Undecodable) as error:
        headers = told_in(record.headers)
        return PackageSummary(
            offset=record.offset,
            time_ns=record.time_ns,
            publisher=headers.get("publisher", ""),
            problem=str(error),
            recipients=tuple(filter(None, headers.get("recipients", "").split("\n"))),
        )
    return PackageSummary(
        offset=record.offset,
        time_ns=record.time_ns,
        publisher=message.publisher,
        kind=message.kind,
        package_id=message.package_id,
        length=message.fetched_bytes,
        paths=_shown(message.paths),
        deep_paths=_shown(message.deep_paths),
        user=clipped(message.user, USER_CHARS_MAX),
        recipients=message.recipients,
    )


def _shown(paths: tuple[str, ...]) -> tuple[str, ...]:
    """The first paths, as many as fit; at least one, cut if needed."""
    sizes = accumulate(len(path) + PATH_OVERHEAD for path in paths)
    few = paths[: sum(1 for _ in takewhile(lambda size: size <= PATHS_CHARS_MAX, sizes))]
    return few or tuple(clipped(path, PATHS_CHARS_MAX) for path in paths[:1])
