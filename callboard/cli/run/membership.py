"""A service as a member of the cluster of its board."""

import asyncio
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

import structlog

from callboard.errors import LogError, MembershipEnded

if TYPE_CHECKING:
    from callboard.board.board import Callboard
    from callboard.board.member.member import Member
    from callboard.config import MemberSection


def membership(board: "Callboard", section: "MemberSection") -> Coroutine[Any, Any, None]:
    """Keeps this process in the cluster until it is cancelled, if an instance id is set. Raises ``ConfigError``."""
    return _attend(board.member(**section.model_dump()) if section.instance else None, section.instance)


async def _attend(member: "Member | None", instance: str) -> None:
    if member is not None:
        line = structlog.get_logger().bind(instance=instance)
        try:
            async with member:
                line.info("member.started")
                await asyncio.Event().wait()
        except (MembershipEnded, LogError) as error:
            line.error("member.ended", reason=str(error))  # distribution needs no cluster, and goes on
    await asyncio.Event().wait()
