"""What a relay needs of the site whose log it appends to."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from callboard.backends.blob_store import BlobStore
from callboard.backends.log import Log
from callboard.messages.distribution.topic_messages import SiteReport
from callboard.messages.topics import Topics


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteMember:
    """A subscriber on the site's log, as its board knows it. Offsets are of that log.

    ``counts``: others wait for it. ``state`` is its liveness if it is not live. ``report`` is what it tells of its own
    site, if it is a relay.
    """

    name: str
    instance: str
    state: str
    counts: bool
    offset: int
    packages: int = -1
    oldest_ns: int = 0
    attempts: int = 0
    errors: int = 0
    needs: bool = False
    reason: str = ""
    editable: bool = False
    package_version: int = 1
    report: SiteReport | None = None


class SiteBoard(Protocol):
    """The site: its log, its blob store, and who is there."""

    @property
    def log(self) -> Log:
        """The log that packages are appended to."""

    @property
    def blobs(self) -> BlobStore:
        """The blob store beside that log."""

    @property
    def topics(self) -> Topics:
        """The topics of the log."""

    async def members(self) -> Sequence[SiteMember]:
        """Every subscriber that was ever heard of there. Raises ``LogUnavailable``, ``NotAnswered``."""

    async def close(self) -> None:
        """Release what was opened for the relay alone; idempotent."""
