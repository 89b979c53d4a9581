"""How far tables reach, so that older ones never replace newer ones, and none are written twice."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Reach:
    """Tables cover everything below these offsets, on the log whose package topic has the identity ``log_id``."""

    log_id: str
    package: int
    status: int = 0
    discovery: int = 0

    @property
    def stops(self) -> dict[str, int]:
        """The offsets, by topic."""
        return {topic: stop for topic, stop in asdict(self).items() if topic != "log_id"}

    def is_beyond(self, known: Mapping[str, int]) -> bool:
        """Whether it is beyond these offsets in at least one topic, and behind them in none."""
        steps = [stop - known[topic] for topic, stop in self.stops.items()]
        return min(steps) >= 0 and max(steps) > 0
