"""The settings of a publisher agent."""

from dataclasses import dataclass, field

from callboard.actors.core.shortening_limits import ShorteningLimits
from callboard.actors.publisher.intake.throttle import ThrottleSettings
from callboard.messages.topics import Topics

MAX_ENTRIES = 5_000_000
"""Packages in memory: 125 MB, and a third more at most; one that names recipients counts once more for each of them.
Of older ones only figures are kept; see ``CachedRange``."""


@dataclass(frozen=True, slots=True)
class PublisherSettings:
    """The settings of a publisher agent.

    ``name`` is the publisher's, and ``instance`` tells this one from others of the same name.
    ``max_entries`` bounds the packages that the queue cache holds, about 25 bytes each. ``throttle`` says whose backlog
    delays requests, ``events`` which kinds of events are written. Without ``keys`` the log takes a record twice.
    """

    name: str
    instance: str
    topics: Topics
    max_entries: int = MAX_ENTRIES
    blob_grace_s: float = 0.0
    """How long the janitor keeps a blob after it was put; None means that there is no janitor."""
    keys: bool = True
    throttle: ThrottleSettings = field(default_factory=ThrottleSettings)
    events: tuple[str, ...] = ()
    shortening: ShorteningLimits | None = field(default_factory=ShorteningLimits)
    """What to keep of the topics that subscribers write; None leaves shortening to others."""

    @property
    def producer(self) -> str:
        """The writer's name in records."""
        return f"{self.name}/{self.instance}"
