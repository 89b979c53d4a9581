"""What a board is made of, as data that can be handed to another process."""

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
    """Where the log and the blob store are.

    ``blobs`` may be empty: a folder beside the log's files, or a temporary one for a log in memory. ``base`` is the
    folder that relative paths start from. Publishers collect blobs if there is a ``blob_grace_s``. What the log has no
    more is read from its ``archive``, if there is one; what the archive ``blobs_for`` refers to is not collected.
    With a ``signing_key`` what is appended is signed; with ``trusted_keys`` only what one of them has signed counts.
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
        """What publishers ship of a source."""
        return PathPatterns(self.include, self.exclude)

    @property
    def shortening(self) -> ShorteningLimits | None:
        """What stays of the topics that subscribers write. To whom the log goes as far back as its archive, that is no
        measure of how long they are.
        """
        return None if self.archive else ShorteningLimits()

    @property
    def topics(self) -> Topics:
        """The topics of the log."""
        return Topics.with_prefix(self.prefix)
