"""How the publishers of a board ship, and which events they write."""

from dataclasses import dataclass, fields
from typing import Literal

from callboard.actors.publisher.intake.throttle import ThrottleSettings
from callboard.door.boards import PUBLISHING
from callboard.door.rules import checked
from callboard.errors import ConfigError
from callboard.messages.distribution.package_event import EVENTS


@dataclass(frozen=True, slots=True)
class Publishing:
    """Settings that all publishers of a board share.

    Args:
        max_package_mb: limit for the files of one package together, in MB; None is no limit.
        throttle_by: whose backlog delays requests: ``none``, the ``editable`` subscribers', or ``all``.
        throttle_for: subscribers whose backlog delays requests in any case.
        throttle_at: the backlog, in packages, up to which nothing is delayed; at least 1.
        throttle_max_s: the delay in seconds from twice that backlog on; above 0, up to 300.
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
