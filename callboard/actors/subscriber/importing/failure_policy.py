"""What to do about a package that could not be imported: retry it, skip it, quarantine it, or block the queue."""

from enum import Enum, auto

from callboard.actors.subscriber.quarantine import quarantine
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.errors import (
    BlobDamaged,
    BlobUnavailable,
    CallboardError,
    LeaderReplaced,
    NameLapsed,
    PackageError,
    RepositoryError,
    SchemaTooNew,
    Undecodable,
)
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.topic_messages import PackageMessage, Status

DEATHS_MIN = 3
"""Attempts before a package is given up for the death of its importer, however few retries there are: what
kills a process once or twice may be an upgrade, an operator, or the machine."""


class NextStep(Enum):
    """The four ways to continue."""

    WAIT = auto()
    """The package is not to blame and the attempt does not count: wait for the repository, blob store, or name."""
    RETRY = auto()
    """The attempt counts; there are more."""
    BLOCK = auto()
    """The bytes are wrong. Nothing is skipped: only a repair, an upgrade or a clear helps."""
    GIVE_UP = auto()
    """Report the reason, then skip or quarantine the package, or block: see ``given_up``."""


def judge(error: CallboardError, attempts: int, settings: SubscriberSettings) -> NextStep:
    """What to do after attempt number ``attempts`` has failed with this error."""
    if isinstance(error, RepositoryError | BlobUnavailable | NameLapsed | LeaderReplaced):
        return NextStep.WAIT
    damaged = isinstance(error, BlobDamaged)  # a publisher can replace it at any time, like a missing one
    if isinstance(error, PackageError | SchemaTooNew | Undecodable) and not damaged:
        return NextStep.GIVE_UP if settings.on_undecodable == "dead_letter" else NextStep.BLOCK
    return NextStep.GIVE_UP if 0 <= settings.max_retries < attempts else NextStep.RETRY


def given_up(ledger: Ledger, message: PackageMessage | None, settings: SubscriberSettings) -> Status | str:
    """What becomes of a package that is given up, as ``on_give_up`` says: its status, or why it blocks the queue.

    A package that cannot be read is skipped, since it does not say which paths to hold.
    """
    if settings.on_give_up == "skip" or message is None:
        return Status.REMOVED_FAILED
    if settings.on_give_up == "block":
        return "it is not retried without a command; callboard retry, skip or clear it"
    return quarantine.no_room(ledger, message) or Status.HELD


def died_too_often(attempts: int, max_retries: int) -> bool:
    """Whether to stop after this many attempts, or calls of a hook, the last of which ended with its process.

    A death counts as an attempt, but the package need not be to blame for a few of them.
    """
    return max_retries >= 0 and attempts >= max(max_retries + 1, DEATHS_MIN)
