"""What a board is made of, as data that can be handed to another process."""

from dataclasses import dataclass, field
from pathlib import Path

from callboard.app.publishing import Publishing
from callboard.backends.repositories.folder_source import EXCLUDED
from callboard.messages.topics import Topics


@dataclass(frozen=True, slots=True)
class BoardSettings:
    """Where the log and the blob store are.

    ``blobs`` may be empty: a folder beside the log's files, or a temporary one for a log in memory. ``base`` is the
    folder that relative paths start from. Publishers collect blobs if there is a ``blob_grace_s``. What the log has no
    more is read from its ``archive``, if there is one; what the archive ``blobs_for`` refers to is not collected.
    """

    log: str
    blobs: str = ""
    base: Path = field(default_factory=Path.cwd)
    prefix: str = "callboard"
    exclude: tuple[str, ...] = EXCLUDED
    blob_grace_s: float = 0.0
    publishing: Publishing = field(default_factory=Publishing)
    archive: str = ""
    blobs_for: str = ""

    @property
    def topics(self) -> Topics:
        """The topics of the log."""
        return Topics.with_prefix(self.prefix)
