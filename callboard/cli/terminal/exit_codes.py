"""The exit codes of commands."""

from callboard.errors import (
    ArchiveBusy,
    ArchiveHole,
    BlobError,
    CallboardError,
    ConfigError,
    LogError,
    NotAllImported,
    NotSupported,
    OffsetOutOfRange,
    RecordTooLarge,
    RepositoryBusy,
    RepositoryOccupied,
    RequestRefused,
    SchemaTooNew,
    SubscriberStuck,
    SubscriberTaken,
    TopicMissing,
)

OK = 0
"""Done."""
FOUND = 1
"""Ran, with a finding: ``doctor`` found a problem, ``publish`` had nothing to ship, ``clear`` and ``--wait`` timed out,
``--until-caught-up`` found something missing or stuck."""
USAGE = 2
"""The command, the configuration or the request is wrong; the message says how to fix it."""
TAKEN = 3
"""Another process runs under this subscriber name, or holds this repository."""
UNAVAILABLE = 4
"""The log, the blob store or the repository cannot be used now; the same command may work later."""
TOO_NEW = 5
"""Something was written by a newer version of callboard: upgrade this one."""
OUTPUT_LOST = 6
"""Standard output could not be written, so the command may have stopped early. A command that changes something reports
on standard error what it did."""
BUG = 70
"""An error that callboard did not expect; its traceback is shown."""
INTERRUPTED = 130
"""Ctrl-C. A ``run`` that stopped in order when asked to exits with 0."""

_CODES: tuple[tuple[type[CallboardError], int], ...] = (
    (SubscriberTaken, TAKEN),
    (RepositoryBusy, TAKEN),
    (ArchiveBusy, TAKEN),
    (ArchiveHole, USAGE),
    (SubscriberStuck, FOUND),
    (NotAllImported, FOUND),
    (SchemaTooNew, TOO_NEW),
    (ConfigError, USAGE),
    (RepositoryOccupied, USAGE),
    (RequestRefused, USAGE),
    (OffsetOutOfRange, USAGE),
    (RecordTooLarge, USAGE),
    (TopicMissing, USAGE),
    (NotSupported, USAGE),
    (LogError, UNAVAILABLE),
    (BlobError, UNAVAILABLE),
    (CallboardError, UNAVAILABLE),
)


def code_of(error: CallboardError) -> int:
    """The exit code for an error that ended a command."""
    return next(code for kind, code in _CODES if isinstance(error, kind))
