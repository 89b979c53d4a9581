"""How publishers of a board ship, and what they tell of it."""

from dataclasses import dataclass, fields
from typing import Literal

from callboard.actors.publisher.intake.throttle import ThrottleSettings
from callboard.door.boards import PUBLISHING
from callboard.door.rules import checked
from callboard.errors import ConfigError
from callboard.messages.distribution.package_event import EVENTS


@dataclass(frozen=True, slots=True)
class Publishing:
    """What all publishers of a board have in common.

    Args:
        max_package_mb: what the files of a package may have together; None is no limit.
        throttle_by: whose backlog holds requests up: that of ``none``, of the ``editable`` subscribers, or of ``all``.
        throttle_for: subscribers whose backlog does so in any case.
        throttle_at: packages of backlog up to which nothing is held up; at least 1.
        throttle_max_s: seconds that a request is held up from twice as many packages on; above 0, up to 300.
        events: which kinds are written to the event topic; see ``docs/events.md``.

    Raises:
        ConfigError: a value that is not among these.
    """

    max_package_mb: float | None = None
    throttle_by: Literal["none", "editable", "all"] = "none"
    throttle_for: tuple[str, ...] = ()
    throttle_at: int = 1000
    throttle_max_s: float = 20.0
    events: tuple[str, ...] = EVENTS

    def __post_init__(self) -> None:
        checked(ConfigError, PUBLISHING, {field.name: getattr(self, field.name) for field in fields(self)})

    @property
    def throttle(self) -> ThrottleSettings:
        """The part of it for the distributor."""
        return ThrottleSettings(self.throttle_by, tuple(self.throttle_for), self.throttle_at, self.throttle_max_s)

    @property
    def max_package_bytes(self) -> int | None:
        """The limit in bytes."""
        return None if self.max_package_mb is None else int(self.max_package_mb * 1e6)
