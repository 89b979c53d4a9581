"""The subscribers of a site, as its board knows them."""

from collections.abc import Sequence
from dataclasses import replace

from callboard.actors.core.agent import Agent
from callboard.actors.worlds.relay.site_board import SiteMember
from callboard.backends.log import Log
from callboard.board.read.status import status as statuses
from callboard.board.read.status.remedies import why
from callboard.board.views import SubscriberStatus, shown_state
from callboard.door.limits import ANSWER_S
from callboard.errors import LogUnavailable
from callboard.messages.distribution.topic_messages import DiscoveryMessage


async def members(agent: Agent, log: Log, topic: str, now_ns: int) -> Sequence[SiteMember]:
    """The subscribers that this publisher's agent knows; ``topic`` is the package topic. Raises as ``SiteBoard``."""
    found = await statuses.board_status(agent, log, topic, now_ns, ANSWER_S)
    if found.problem:
        raise LogUnavailable(found.problem)
    known = await statuses.members(agent, "", ANSWER_S)
    said = {each.announcement.subscriber: each.announcement for each in known}
    return [_member(row, said.get(row.name), now_ns) for row in found.subscribers]


def _member(row: SubscriberStatus, said: DiscoveryMessage | None, now_ns: int) -> SiteMember:
    return SiteMember(
        name=row.name,
        instance=row.instance,
        state=shown_state(row),
        counts=row.counts,
        offset=row.offset,
        packages=row.lag_packages,
        oldest_ns=now_ns - int(row.lag_s * 1e9) if row.lag_packages > 0 and row.lag_s >= 0 else 0,
        attempts=row.attempts,
        errors=row.errors,
        needs=row.needs,
        reason=why(replace(each, remedies=()) for each in row.troubles),
        editable=row.editable,
        package_version=said.package_version if said is not None else 1,
        report=said.site if said is not None else None,
    )
