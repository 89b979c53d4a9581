"""The settings of a board and of its publishers, as data that can be sent to another process."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal

from callboard.actors.core.shortening_limits import ShorteningLimits
from callboard.actors.publisher.intake.throttle import ThrottleSettings
from callboard.backends.repositories.folder_source import EXCLUDED
from callboard.backends.repositories.path_patterns import PathPatterns
from callboard.door.boards import PUBLISHING
from callboard.door.rules import checked
from callboard.errors import ConfigError
from callboard.messages.distribution.package_event import EVENTS
from callboard.messages.signing import SigningKey
from callboard.messages.topics import PREFIX, Topics


@dataclass(frozen=True, slots=True)
class Publishing:
    """Settings that all publishers of a board share.

    Args:
        max_package_mb: limit for the files of one package together, in MB; None is no limit.
        throttle_by: whose backlog delays requests: ``none``, the ``editable`` subscribers', or ``all``.
        throttle_for: subscribers whose backlog delays requests in any case.
        throttle_at: the backlog, in packages, up to which nothing is delayed; at least 1.
        throttle_max_s: the delay in seconds from twice that backlog on; above 0, up to 300.
        compress: compress packages that shrink, once every known subscriber can read that.
        events: the kinds of events to write to the event topic; see ``docs/events.md``.

    Raises:
        ConfigError: a value that is not allowed.
    """

    max_package_mb: float | None = None
    throttle_by: Literal["none", "editable", "all"] = "none"
    throttle_for: tuple[str, ...] = ()
    throttle_at: int = 1000
    throttle_max_s: float = 20.0
    events: tuple[str, ...] = EVENTS
    compress: bool = True

    def __post_init__(self) -> None:
        checked(ConfigError, PUBLISHING, {field.name: getattr(self, field.name) for field in fields(self)})

    @property
    def throttle(self) -> ThrottleSettings:
        """The settings for the distributor."""
        return ThrottleSettings(self.throttle_by, tuple(self.throttle_for), self.throttle_at, self.throttle_max_s)

    @property
    def max_package_bytes(self) -> int | None:
        """The limit in bytes."""
        return None if self.max_package_mb is None else int(self.max_package_mb * 1e6)


@dataclass(frozen=True, slots=True)
class SitePlace:
    """Where the log and the blob store of a relay's site are, to look into what the relay does not tell.

    Args:
        log: the URL of the site's log.
        blobs: its blob store; in the folder of a SQLite log if not given.
    """

    log: str = field(repr=False)
    blobs: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class BoardSettings:
    """Where the log and the blob store are, and how they are used.

    An empty ``blobs`` is a folder beside the log's files, or a temporary one for a log in memory. Relative paths start
    from ``base``. Publishers collect blobs if ``blob_grace_s`` is above 0. Records that the log no longer has are read
    from ``archive``, if given; blobs that the archive ``blobs_for`` refers to are not collected. With a
    ``signing_key``, appended records are signed; with ``trusted_keys``, only records signed with one of them count.
    What is bound in logs under the names of ``job_context`` goes with the jobs that are added. ``sites`` are by the
    names of their relays.
    """

    log: str = field(repr=False)
    blobs: str = field(default="", repr=False)
    base: Path = field(default_factory=Path.cwd)
    prefix: str = PREFIX
    exclude: tuple[str, ...] = EXCLUDED
    blob_grace_s: float = 0.0
    publishing: Publishing = field(default_factory=Publishing)
    archive: str = field(default="", repr=False)
    blobs_for: str = field(default="", repr=False)
    include: tuple[str, ...] = ()
    signing_key: SigningKey | None = None
    trusted_keys: tuple[SigningKey, ...] = ()
    job_context: tuple[str, ...] = ()
    sites: Mapping[str, SitePlace] = field(default_factory=dict, hash=False)

    @property
    def patterns(self) -> PathPatterns:
        """Selects what publishers ship of a source."""
        return PathPatterns(self.include, self.exclude)

    @property
    def shortening(self) -> ShorteningLimits | None:
        """How far topics that subscribers write are shortened. None with an archive: the log then reaches back as far
        as the archive, and the length of a topic says nothing.
        """
        return None if self.archive else ShorteningLimits()

    @property
    def topics(self) -> Topics:
        """The topics of the log."""
        return Topics.with_prefix(self.prefix)
