"""The error tree. Each class is one decision for the caller, and each message says what to do next.

CallboardError
├── ConfigError            fix the configuration, then start again
│   └── ExtraMissing       install the named extra
├── RequestRefused         fix the request; sending it again as it is will not help
│   └── RootFilled         it would replace what others shipped; choose another place, or allow it
├── SubscriberTaken        another instance runs under this name; stop it or choose another name
├── NameLapsed             the lease on the name expired before the import was committed; wait until it is renewed
├── MembershipEnded        this process is no longer a member of the cluster; its code says why
├── LeadershipLost         this process no longer leads the cluster; stop what only the leader does
│   └── LeaderReplaced     another leader took over, and has written since
├── LogError
│   ├── OffsetOutOfRange   records were trimmed or never existed; choose where to continue
│   ├── RecordTooLarge     ship it through the blob store
│   ├── TopicMissing       create the topic, or correct its name
│   ├── LogUnavailable     wait and try again
│   ├── LogReplaced        the offsets belong to another log; choose how to start over
│   └── NotSupported       this backend declares that it cannot do that
├── BlobError
│   ├── BlobMissing        the content is not in the store (yet)
│   └── BlobUnavailable    wait and try again
├── RepositoryError
│   ├── RepositoryBusy     another process holds this repository
│   ├── RepositoryOccupied      it has content from elsewhere; choose another place, adopt it or replace it
│   └── RepositoryUnavailable   disk full, no permission, ...: repair it; then work continues by itself
├── ArchiveError
│   ├── ArchiveHole        records were trimmed before they were archived; find them elsewhere, or accept the hole
│   ├── ArchiveBusy        another process writes to it; leave it to that one
│   └── ArchiveDamaged     a part is missing or altered; restore the archive from a copy
├── PackageError
│   ├── PackageCorrupt     the bytes are not what was published; restore them or clear the package
│   │   └── BlobDamaged    a blob is not what was published; publish its content again with --full
│   └── PackageRefused     the package does what is never allowed, such as leaving the root
├── HookFailed             the service's own function failed; see its error
├── RetryJob               raised by a job that has failed and is to be tried again
├── CancelJob              raised by a job that cannot succeed
├── CommandRefused         an entity refused the command, as its class decides; its code is the class's own
├── SchemaTooNew           written by a newer version; upgrade this process
├── Undecodable            the bytes are not a message that this version knows
├── NotAllImported         caught up, but without some packages; ``left`` has them: retry, skip or publish them again
├── AgentFailed            the supervisor gave up on an actor; see the reason, restart the agent
└── NotAnswered            no answer in time; the request may still have taken effect, so retry with its id
    └── SubscriberStuck    the subscriber cannot continue by itself, so no answer will come; do what the message says
"""

import re
from typing import Literal, NamedTuple

RefusalCode = Literal[
    "invalid", "unknown_name", "not_found", "exists", "excluded", "unfit", "too_large", "changed", "inaccessible",
    "damaged", "gone", "empty", "out_of_range", "overlaps", "overtaken", "mismatch", "id_taken", "live", "busy",
    "not_editable", "not_followed", "needed", "not_due", "unconfirmed", "undetermined", "declined", "crashed",
    "stopped", "at_site",
]  # fmt: skip
"""What is wrong with a request, for programs; docs/reference.md explains each code."""


class CallboardError(Exception):
    """The base of all errors that callboard raises on purpose. Its arguments are lines; nearly always there is one.

    ``code`` identifies it for programs and stays the same when the words change: its class's name, as ``blob_missing``.
    """

    code: str

    def __init_subclass__(cls) -> None:
        cls.code = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> tuple[str, ...]:
        """The message, in lines that are each meaningful alone."""
        return tuple(map(str, self.args))


class ConfigError(CallboardError):
    """The configuration cannot work; the message names the setting and the fix."""


class ExtraMissing(ConfigError):
    """An optional dependency is not installed; the message carries the pip command."""


class RequestRefused(CallboardError):
    """The request itself is wrong; ``code`` says how."""

    def __init__(self, *lines: object, code: RefusalCode | None = None) -> None:
        super().__init__(*lines)
        if code or type(self) is RequestRefused:
            self.code = code or "invalid"


class RootFilled(RequestRefused):
    """The request replaces a root that another publisher, or another source, filled."""


class SubscriberTaken(CallboardError):
    """A live instance already runs under this subscriber name."""


class NameLapsed(CallboardError):
    """The subscriber no longer held its name when an import was about to commit, so the import was rolled back."""


class MembershipEnded(CallboardError):
    """This process can no longer be a member of the cluster. ``code`` is a ``MemberProblem``, such as ``duplicate_id``:
    another process runs under the same instance id.
    """

    def __init__(self, *lines: object, code: str = "left") -> None:
        super().__init__(*lines)
        self.code = code


class LeadershipLost(CallboardError):
    """This process no longer leads the cluster."""


class LeaderReplaced(LeadershipLost):
    """The write came from a former leader, or without a leader's token. Nothing was written."""


class LogError(CallboardError):
    """The log could not do what was asked."""


class OffsetOutOfRange(LogError):
    """The offset was trimmed, or is beyond the end.

    ``first`` is the oldest offset still there and ``end`` the one after the newest.
    """

    def __init__(self, topic: str, offset: int, first: int, end: int) -> None:
        super().__init__(
            f"offset {offset} of topic {topic!r} is not in the log, which holds [{first}, {end}); "
            "choose an offset inside that range or reseed the subscriber"
        )
        self.topic, self.offset, self.first, self.end = topic, offset, first, end

    def __reduce__(self) -> tuple[type["OffsetOutOfRange"], tuple[str, int, int, int]]:
        return OffsetOutOfRange, (self.topic, self.offset, self.first, self.end)


class RecordTooLarge(LogError):
    """The record is above the log's limit."""


class TopicMissing(LogError):
    """The topic does not exist."""


class LogUnavailable(LogError):
    """The log cannot be reached or written at the moment."""


class LogReplaced(LogError):
    """The log is not the one that the offsets belong to."""


class NotSupported(LogError):
    """The backend declares that it lacks this capability."""


class BlobError(CallboardError):
    """The blob store could not do what was asked."""


class BlobMissing(BlobError):
    """No blob with this digest."""


class BlobUnavailable(BlobError):
    """The blob store cannot be reached or written at the moment."""


class RepositoryError(CallboardError):
    """The repository could not do what was asked."""


class RepositoryBusy(RepositoryError):
    """Another process has this repository open."""


class RepositoryOccupied(RepositoryError):
    """The place is not empty, and was never a callboard repository."""


class RepositoryUnavailable(RepositoryError):
    """The repository cannot be written at the moment: disk full, no permission, ..."""


class ArchiveError(CallboardError):
    """The archive could not do what was asked."""


class ArchiveHole(ArchiveError):
    """Records that the archive lacks are no longer on any log."""


class ArchiveBusy(ArchiveError):
    """Another process writes to this archive."""


class ArchiveDamaged(ArchiveError):
    """A manifest or a segment of the archive is missing or altered."""


class PackageError(CallboardError):
    """The package cannot be imported as it is."""


class PackageCorrupt(PackageError):
    """Truncated or altered: a digest does not match."""


class BlobDamaged(PackageCorrupt):
    """A blob is truncated or altered: publish its content again with ``--full``, which replaces it."""


class PackageRefused(PackageError):
    """The package would write outside the repository, or breaks the format's rules."""


class HookFailed(CallboardError):
    """A hook of the service raised an error, or took too long."""


class RetryJob(CallboardError):
    """Raised by a job: this attempt has failed, the next one waits for ``delay_s`` seconds; None as the queue says."""

    def __init__(self, message: str = "", delay_s: float | None = None) -> None:
        super().__init__(message)
        self.delay_s = delay_s


class CancelJob(CallboardError):
    """Raised by a job: it cannot succeed, and is not tried again."""


class CommandRefused(CallboardError):
    """Raised by the decision of an entity: the command is not carried out, and nothing changes. The caller gets the
    message and the ``code``, which the entity's class chooses.
    """

    def __init__(self, *lines: object, code: str = "refused") -> None:
        super().__init__(*lines)
        self.code = code


class SchemaTooNew(CallboardError):
    """Written by a newer version than this one can read."""


class Undecodable(CallboardError):
    """Not a message of a known type, or damaged."""


class NotImported(NamedTuple):
    """A package behind a subscriber's position that is not finished there.

    ``status`` is ``given_up``, ``held`` (quarantined), ``hook_due`` (imported, but its hook has not succeeded yet) or
    ``hook_failed`` (imported, but its hook was given up).
    """

    status: str
    offset: int
    publisher: str
    package_id: str
    attempts: int
    reason: str


class NotAllImported(CallboardError):
    """A subscriber has processed everything, but does not have all of it. ``left`` lists the packages, in log order."""

    def __init__(self, message: str, left: tuple[NotImported, ...]) -> None:
        super().__init__(*message.split("\n"))
        self.left = left

    def __reduce__(self) -> tuple[type["NotAllImported"], tuple[str, tuple[NotImported, ...]]]:
        return NotAllImported, (str(self), self.left)


class AgentFailed(CallboardError):
    """An actor kept failing and the supervisor gave up."""


class NotAnswered(CallboardError):
    """No answer within the deadline."""


class SubscriberStuck(NotAnswered):
    """A subscriber cannot continue until an operator acts."""
