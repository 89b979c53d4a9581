"""A package without its content, read from its record."""

from itertools import accumulate, takewhile
from operator import attrgetter

from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages import codec
from callboard.messages.bounds import ID_CHARS_MAX, NAMES_MAX, clipped
from callboard.messages.distribution.queue_mail import PackageSummary
from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from callboard.messages.event import unchecked
from callboard.messages.headers import ENTRIES_MAX, LENGTH_MAX, open_record, told_in, usual_type
from callboard.messages.record import Record

PATHS_CHARS_MAX = 4000
"""Characters of paths in a summary, for each kind of path. Ten thousand summaries are remembered, a thousand make a
page, and a package can have 2 MB of paths."""

PATH_OVERHEAD = 16
"""What a path counts in addition to its characters."""

USER_CHARS_MAX = 200

PLAIN_BYTES_MAX = codec.UNKNOWN_BYTES_MAX
"""A larger message is read in the usual way."""

PLAIN_CHARS_MAX = ID_CHARS_MAX
"""Characters of all names and prose of a plain package together, and of its paths: as many as one of them may have."""

PLAIN_PATHS_MAX = 100
"""Paths of a plain package: with those characters, all of them are shown."""

_TYPE = PackageMessage.__name__.encode()
_KINDS = {kind.value: kind for kind in Kind}
_numbers = attrgetter("kind", "length", "total_bytes", "entries")
_texts = attrgetter(
    "publisher", "package_id", "user", "publisher_instance", "content_ref", "format", "request_id", "content_digest",
    "source",
)  # fmt: skip
_lists = attrgetter("paths", "deep_paths", "recipients", "blobs", "metadata")
_made = unchecked(PackageSummary)


def summarise(record: Record) -> PackageSummary:
    """What a queue shows of a record. One that cannot be decoded is never dropped: ``problem`` says why, and publisher
    and recipients come from the headers, by which subscribers skip it, too.
    """
    if (plain := _plain(record)) is not None:
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


def _plain(record: Record) -> PackageSummary | None:
    """The same, in a fifth of the time, if nothing about the record has to be looked at more closely."""
    if len(record.payload) > PLAIN_BYTES_MAX or usual_type(record) != _TYPE:
        return None
    package = codec.peek(PackageMessage, record.payload)
    if package is None or codec.has_unknown(package):
        return None
    texts, (kind, length, total_bytes, entries) = _texts(package), _numbers(package)
    paths, deep_paths, recipients, blobs, pairs = [tuple(found[:]) if found else () for found in _lists(package)]
    try:  # text that is not UTF-8 is bytes
        named, shown = "".join(texts), "".join(paths + deep_paths)
        if recipients or blobs or pairs:
            "".join([*recipients, *blobs, *(text for pair in pairs for text in (pair.name, pair.value))])
    except TypeError:
        return None
    if not (
        max(len(named), len(shown)) <= PLAIN_CHARS_MAX and named.isprintable()
        and len(paths) + len(deep_paths) <= PLAIN_PATHS_MAX and all(path[:1] == "/" for path in paths + deep_paths)
        and len(recipients) <= NAMES_MAX and len(package.user) <= USER_CHARS_MAX
        and 0 <= length <= LENGTH_MAX and 0 <= total_bytes <= LENGTH_MAX and 0 <= entries <= ENTRIES_MAX
    ):  # fmt: skip
        return None
    fetched = len(package.content) or length
    return _made(
        offset=record.offset, time_ns=record.time_ns, publisher=texts[0], kind=_KINDS[kind], package_id=texts[1],
        length=max(fetched, total_bytes) if blobs else fetched, paths=paths, deep_paths=deep_paths, user=texts[2],
        recipients=recipients,
    )  # fmt: skip


def _shown(paths: tuple[str, ...]) -> tuple[str, ...]:
    """The first paths, as many as fit; at least one, cut if needed."""
    sizes = accumulate(len(path) + PATH_OVERHEAD for path in paths)
    few = paths[: sum(1 for _ in takewhile(lambda size: size <= PATHS_CHARS_MAX, sizes))]
    return few or tuple(clipped(path, PATHS_CHARS_MAX) for path in paths[:1])
