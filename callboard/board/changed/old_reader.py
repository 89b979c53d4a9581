"""Whether all subscribers know the version of the package format that is written here."""

from callboard.actors.core.agent import Agent
from callboard.actors.publisher.fleet.following import follows
from callboard.board.read.status.status import members
from callboard.content.package_format.manifest import VERSION
from callboard.door.limits import ANSWER_S
from callboard.errors import LogError, NotAnswered

OLD = "subscriber {!r}{} does not know packages that put and remove; upgrade it, or forget it if it is gone for good"
AT_SITE = ", or one of its site,"
UNKNOWN = "it is not known what the subscribers can read, for they could not be listed"


async def old_reader(agent: Agent, publisher: str) -> str:
    """Why not, which names a subscriber of this publisher; empty if they do.

    One that is not running counts as well, until it is forgotten: it may come back, and must not stop at a package.
    """
    try:
        known = [member.announcement for member in await members(agent, "", ANSWER_S)]
    except (NotAnswered, LogError):
        return UNKNOWN
    old = (it for it in known if it.package_version < VERSION and follows(it, publisher))
    return next((OLD.format(it.subscriber, AT_SITE if it.site is not None else "") for it in old), "")
