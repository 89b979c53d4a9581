"""Which subscribers a publisher has, and for which of them it waits."""

from callboard.messages.distribution import DiscoveryMessage
from callboard.messages.mailbox import FleetView, Liveness, Member


def follows(said: DiscoveryMessage, publisher: str) -> bool:
    """Whether the subscriber that announced this imports the publisher's packages."""
    return not said.configuration.follows or publisher in said.configuration.follows


def counts(member: Member) -> bool:
    """Whether anybody waits for this subscriber: it is live, or only silent, and may be back any moment.

    One that said goodbye, was not heard of for so long that it is gone, or was forgotten, holds nothing up.
    """
    return member.liveness in (Liveness.LIVE, Liveness.SILENT)


def slowest(view: FleetView, publisher: str, log_id: str) -> int:
    """The offset that all of the publisher's subscribers that count are past, -1 if there is none, also for nobody:
    what nobody is there to get has not been distributed.

    A subscriber that speaks of another incarnation of the log has nothing of this one yet.
    """
    return min(
        (
            member.announcement.offset if member.announcement.log_id == log_id else -1
            for member in view.members
            if counts(member) and follows(member.announcement, publisher)
        ),
        default=-1,
    )
