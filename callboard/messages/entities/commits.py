"""Reads the commits of entities: those of a long history, one after the other."""

from callboard.messages import codec
from callboard.messages.bounds import ID_CHARS_MAX
from callboard.messages.entities.entity_messages import EntityCommitMessage
from callboard.messages.headers import usual_type
from callboard.messages.reading import Unread, read
from callboard.messages.record import Record

PLAIN_BYTES_MAX = 1 << 16
"""A larger commit is read in the usual way."""

_TYPE = EntityCommitMessage.__name__.encode()


def commit_in(record: Record) -> EntityCommitMessage | Unread:
    """The commit in a record. Read it, and do not keep or send it: in the usual case, which takes a third of the time,
    it is only something with the same fields.
    """
    if len(record.payload) <= PLAIN_BYTES_MAX and usual_type(record) == _TYPE:
        commit = codec.peek(EntityCommitMessage, record.payload)
        if commit is not None and _is_plain(commit):
            return commit
    return read(record, (EntityCommitMessage,), lambda _: None)


def _is_plain(commit: EntityCommitMessage) -> bool:
    """Whether nothing about its texts has to be looked at more closely; see ``bounds.py``."""
    ids = [commit.key, commit.command_id, commit.code, commit.reason]
    ids += [event.name for event in commit.events]
    try:
        text = "".join(ids)
    except TypeError:  # text that is not UTF-8 is bytes
        return False
    return len(text) <= ID_CHARS_MAX and text.isprintable()
