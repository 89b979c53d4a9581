"""Which subscribers a publisher has, where they are on its log, and which of them it waits for."""

from callboard.messages.distribution.fleet_mail import FleetView, Liveness, Member
from callboard.messages.distribution.topic_messages import DiscoveryMessage, State
from callboard.messages.event import replaced


def follows(said: DiscoveryMessage, publisher: str) -> bool:
    """Whether the subscriber that sent this announcement imports the publisher's packages."""
    return not said.configuration.follows or publisher in said.configuration.follows


def counts(member: Member) -> bool:
    """Whether the publisher waits for this subscriber: it is live, or only silent, and may be back any moment.

    A subscriber that said goodbye, is gone after long silence, or was forgotten, holds nothing up.
    """
    return member.liveness in (Liveness.LIVE, Liveness.SILENT)


def is_elsewhere(said: DiscoveryMessage, log_id: str) -> bool:
    """Whether the subscriber is on another log than this one, so that its offsets mean nothing here. False for a
    subscriber without a position, and if this log is not known yet (empty).
    """
    return bool(log_id) and said.log_id not in ("", log_id)


def position(said: DiscoveryMessage, log_id: str) -> int:
    """The last offset of this log that the subscriber has processed; -1 if none. Compare offsets only by this."""
    return -1 if is_elsewhere(said, log_id) else said.offset


def as_reader(member: Member) -> Member:
    """The member with its own position: a relay announces that of its whole site, and may have read further."""
    said = member.announcement
    return member if said.site is None else replaced(member, announcement=replaced(said, offset=said.own_offset))


def on_log(member: Member, log_id: str) -> Member:
    """The member as seen on this log: one on another log has lost its position here, and its offsets are
    dropped.
    """
    said = member.announcement
    if not is_elsewhere(said, log_id):
        return member
    reason = (
        f"its position belongs to package log {said.log_id[:8]}, not to the current one, {log_id[:8]}: it has nothing "
        "of this one"
    )
    starting = said.state is State.STARTING
    word = replaced(
        said,
        offset=-1,
        states=(),
        command_offset=-1,
        head_offset=-1,
        head_package="",
        import_started_ns=0,
        held_offset=-1,
        left=(),
        site=said.site and replaced(said.site, relayed=-1, offset=-1, oldest_ns=0, worst=()),
        state=said.state if starting else State.GAP,
        reason=said.reason if starting or (said.state is State.GAP and said.reason) else reason,
    )
    return replaced(member, announcement=word)


def after_trim(member: Member, first: int) -> Member:
    """The member as seen on a log that begins at ``first``. One that stopped before that is at a gap, as it will
    announce itself when it starts.
    """
    said = member.announcement
    if member.liveness is not Liveness.STOPPED or not said.log_id or said.own_offset + 1 >= first:
        return member
    if said.state is State.GAP:
        return member  # it is on another log, which is shown already
    reason = f"was gap: packages {said.own_offset + 1} to {first - 1} were trimmed from the log before it imported them"
    return replaced(member, announcement=replaced(said, reason=reason))


def slowest(view: FleetView, publisher: str, log_id: str) -> int:
    """The offset that all of the publisher's subscribers that count are past; -1 if there is none, or no subscriber:
    a package that no subscriber receives has not been distributed.

    A subscriber on another incarnation of the log has nothing of this one yet.
    """
    return min(
        (
            position(member.announcement, log_id)
            for member in view.members
            if counts(member) and follows(member.announcement, publisher)
        ),
        default=-1,
    )
