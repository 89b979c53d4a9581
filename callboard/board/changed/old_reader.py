"""Whether all subscribers know the version of the package format that is written here."""

from callboard.actors.core.agent import Agent
from callboard.actors.publisher.fleet.following import follows
from callboard.board.read.status.status import members
from callboard.content.package_format.manifest import VERSION
from callboard.door.limits import ANSWER_S
from callboard.errors import LogError, NotAnswered
from callboard.messages.distribution.topic_messages import DiscoveryMessage

OLD = "subscriber {!r}{} does not know packages that put and remove; upgrade it, or forget it if it is gone for good"
AT_SITE = ", or one of its site,"
NOT_SEEN = (
    "it is not known yet what the subscribers of site {!r} can read, for its relay has not seen them; try again later"
)
UNKNOWN = "it is not known what the subscribers can read, for they could not be listed"


async def old_reader(agent: Agent, publisher: str) -> str:
    """Why packages cannot be in the present format: names a subscriber of this publisher that cannot read it. Empty if
    all can.

    One that is not running counts as well, until it is forgotten: it may come back, and must not stop at a package.
    """
    try:
        known = [member.announcement for member in await members(agent, "", ANSWER_S)]
    except (NotAnswered, LogError):
        return UNKNOWN
    old = (it for it in known if it.package_version < VERSION and follows(it, publisher))
    return next(map(_too_old, old), "")


def _too_old(it: DiscoveryMessage) -> str:
    if it.site is not None and not it.site.time_ns:
        return NOT_SEEN.format(it.subscriber)
    return OLD.format(it.subscriber, AT_SITE if it.site is not None else "")
