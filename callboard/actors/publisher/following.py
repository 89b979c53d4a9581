"""Which subscribers a publisher has, and for which of them it waits."""

from callboard.messages.distribution import DiscoveryMessage
from callboard.messages.mailbox import Liveness, Member


def follows(said: DiscoveryMessage, publisher: str) -> bool:
    """Whether the subscriber that announced this imports the publisher's packages."""
    return not said.configuration.follows or publisher in said.configuration.follows


def counts(member: Member) -> bool:
    """Whether anybody waits for this subscriber: it is live, or only silent, and may be back any moment.

    One that said goodbye, was not heard of for so long that it is gone, or was forgotten, holds nothing up.
    """
    return member.liveness in (Liveness.LIVE, Liveness.SILENT)
