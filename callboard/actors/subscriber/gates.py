"""The gates of a subscriber, in the order in which they are asked."""

from callboard.actors.subscriber.gate import Gate
from callboard.actors.subscriber.settings import SubscriberSettings


def gates(settings: SubscriberSettings) -> tuple[Gate, ...]:  # noqa: ARG001 - no gate yet depends on a setting
    """Every condition that a package has to pass, beyond being for this subscriber and not being cleared."""
    return ()
