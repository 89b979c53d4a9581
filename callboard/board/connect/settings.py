"""The settings of a board, as data that can be sent to another process."""

from dataclasses import dataclass, field
from pathlib import Path

from callboard.actors.core.shortening_limits import ShorteningLimits
from callboard.backends.repositories.folder_source import EXCLUDED
from callboard.backends.repositories.path_patterns import PathPatterns
from callboard.board.connect.publishing import Publishing
from callboard.messages.signing import SigningKey
from callboard.messages.topics import PREFIX, Topics


@dataclass(frozen=True, slots=True)
class BoardSettings:
    """Where the log and the blob store are, and how they are used.

    An empty ``blobs`` is a folder beside the log's files, or a temporary one for a log in memory. Relative paths start
    from ``base``. Publishers collect blobs if ``blob_grace_s`` is above 0. Records that the log no longer has are read
    from ``archive``, if given; blobs that the archive ``blobs_for`` refers to are not collected. With a
    ``signing_key``, appended records are signed; with ``trusted_keys``, only records signed with one of them count.
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
