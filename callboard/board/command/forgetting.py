"""Forgetting a subscriber that never comes back."""

import secrets

from callboard.actors.core.agent import Agent
from callboard.backends.log import Log
from callboard.board.read.status.status import member
from callboard.errors import RequestRefused
from callboard.messages.distribution.mailbox import Liveness, Member
from callboard.messages.distribution.topic_messages import ForgottenMessage
from callboard.messages.headers import new_record


async def forget(
    agent: Agent,
    log: Log,
    topic: str,
    subscriber: str,
    *,
    reason: str,
    author: str,
    force: bool,
    now_ns: int,
    timeout_s: float,
) -> None:
    """Say on the discovery topic that it is gone for good; see ``Callboard.forget_subscriber``."""
    if not force:
        _check(await member(agent, subscriber, "", timeout_s))
    record_id = secrets.token_hex(16)
    message = ForgottenMessage(subscriber=subscriber, author=author, reason=reason, time_ns=now_ns)
    record = new_record(message, record_id=record_id, time_ns=now_ns, producer=author, key=record_id)
    await log.append(topic, [record])


def _check(target: Member) -> None:
    """Raises ``RequestRefused`` if it is live."""
    said = target.announcement
    if target.liveness is Liveness.LIVE:
        raise RequestRefused(
            f"subscriber {said.subscriber!r} is live, as process {said.pid} on {said.host or 'an unknown host'}, and "
            "its next word would undo it; stop it first. With --force every repository of this name is forgotten, and "
            "counts again with its next word: one that is silent for a day may lose what it has not processed"
        )
