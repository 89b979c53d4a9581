"""What a publisher's actors ask of the blob store, and of the checkpoint of its queue cache."""

from dataclasses import dataclass

from callboard.actors.core.decision import Perform
from callboard.actors.publisher.queues.package_index import PackageIndex
from callboard.messages.distribution.mailbox import DistributeRequest


@dataclass(frozen=True, slots=True)
class BuildPackage(Perform):
    """Result ``PackageMessage`` without identity (publisher, id): content, digest, paths, blobs stored."""

    request: DistributeRequest


@dataclass(frozen=True, slots=True)
class CollectBlobs(Perform):
    """Result ``BlobCollection``: blobs that no record of these topics refers to are removed after the grace period."""

    package: str
    status: str
    grace_s: float
    now_ns: int


@dataclass(frozen=True, slots=True)
class LoadCheckpoint(Perform):
    """Result ``PackageIndex``, or None: what the checkpoint knows of this log, if it certainly is as the log is now."""

    topic: str
    log_id: str


@dataclass(frozen=True, slots=True)
class SaveCheckpoint(Perform):
    """Result: why the index was not saved as the checkpoint; empty if it was. The index is given away."""

    topic: str
    index: PackageIndex
