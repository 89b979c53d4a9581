"""What a publisher's actors ask of the blob store."""

from dataclasses import dataclass

from callboard.actors.core.decision import Perform
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
