"""What to do about a package that could not be imported."""

from enum import Enum, auto

from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.errors import (
    BlobDamaged,
    BlobUnavailable,
    CallboardError,
    NameLapsed,
    PackageError,
    RepositoryError,
    SchemaTooNew,
    Undecodable,
)

DEATHS_MIN = 3
"""A package is given up for the death of its importer only after so many tries, however few retries there are: what
kills a process once or twice may be an upgrade, an operator, or the machine."""


class NextStep(Enum):
    """The four ways to go on."""

    WAIT = auto()
    """The package is not to blame and the try does not count: wait for the repository, the blob store, or the name."""
    RETRY = auto()
    """The try counts; there are more."""
    BLOCK = auto()
    """The bytes are wrong. Nothing is skipped: only a repair, an upgrade or a clear helps."""
    GIVE_UP = auto()
    """Tell why, and go on with the next one."""


def judge(error: CallboardError, attempts: int, settings: SubscriberSettings) -> NextStep:
    """The verdict after try number ``attempts`` has ended with this error."""
    if isinstance(error, RepositoryError | BlobUnavailable | NameLapsed):
        return NextStep.WAIT
    damaged = isinstance(error, BlobDamaged)  # which a publisher can replace at any time, as it can a missing one
    if isinstance(error, PackageError | SchemaTooNew | Undecodable) and not damaged:
        return NextStep.GIVE_UP if settings.on_undecodable == "dead_letter" else NextStep.BLOCK
    return NextStep.GIVE_UP if 0 <= settings.max_retries < attempts else NextStep.RETRY


def died_too_often(attempts: int, max_retries: int) -> bool:
    """Whether no further try, or call of a hook, is due after so many, of which the last ended with its process.

    A death counts as an attempt, but for a few of them the package need not be to blame.
    """
    return max_retries >= 0 and attempts >= max(max_retries + 1, DEATHS_MIN)
