"""Reads the summaries of packages of a long history, one after the other."""

from operator import attrgetter

from callboard.messages import codec
from callboard.messages.bounds import ID_CHARS_MAX, NAMES_MAX
from callboard.messages.distribution.queue_mail import PackageSummary
from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from callboard.messages.event import unchecked
from callboard.messages.headers import ENTRIES_MAX, LENGTH_MAX, usual_type
from callboard.messages.record import Record

USER_CHARS_MAX = 200
"""Characters of the user in a summary."""

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


def plain_summary(record: Record) -> PackageSummary | None:
    """The summary that a record has with every check, in a third of the time; None if anything about the record has to
    be looked at more closely.
    """
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
