"""Forgetting a subscriber that never comes back."""

from callboard.board.connect.user import current_user
from callboard.board.context import BoardContext
from callboard.board.read.status.status import member
from callboard.door.limits import ANSWER_S
from callboard.door.questions import asked
from callboard.errors import RequestRefused
from callboard.messages.distribution.fleet_mail import Liveness, Member
from callboard.messages.distribution.topic_messages import ForgottenMessage
from callboard.messages.headers import new_record


async def forget_subscriber(
    board: BoardContext,
    subscriber: str,
    *,
    reason: str = "",
    author: str = "",
    force: bool = False,
    timeout_s: float = ANSWER_S,
) -> None:
    """Remove a subscriber that never comes back from every view, and free its name. Its next announcement undoes
    that. A gated trim keeps what it has not processed for another day.

    Args:
        board: the open board.
        subscriber: it must not be live.
        reason: for the record.
        author: for the record; the user of this process if not given.
        force: accept a subscriber that is live, or was never heard of: another process may use its name.
        timeout_s: seconds to wait for an answer.

    Raises:
        RequestRefused: no such subscriber, or one that is live.
        LogUnavailable: the command could not be appended.
    """
    asked(subscriber=subscriber, reason=reason, author=author, force=force, timeout_s=timeout_s)
    agent, author = await board.viewer(), author or current_user()
    if not force:
        _check(await member(agent, subscriber, "", timeout_s))
    record_id, now_ns = board.new_id(), board.now_ns()
    message = ForgottenMessage(subscriber=subscriber, author=author, reason=reason, time_ns=now_ns)
    record = new_record(message, record_id=record_id, time_ns=now_ns, producer=author, key=record_id)
    await board.log.append(board.topics.discovery, [record])


def _check(target: Member) -> None:
    """Raise ``RequestRefused`` if it is live."""
    said = target.announcement
    if target.liveness is Liveness.LIVE:
        raise RequestRefused(
            f"subscriber {said.subscriber!r} is live, as process {said.pid} on {said.host or 'an unknown host'}, and "
            "its next announcement would undo this; stop it first. With --force every repository of this name is "
            "forgotten until it announces itself: one silent for a day may lose packages that it has not processed",
            code="live",
        )
