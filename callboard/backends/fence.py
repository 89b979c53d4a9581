"""The fencing token of a leader, and the fence that a resource keeps against former leaders."""

from dataclasses import dataclass
from functools import total_ordering

from callboard.errors import LeaderReplaced, LogReplaced, RequestRefused


@total_ordering
@dataclass(frozen=True, slots=True)
class Token:
    """Sent by a leader with every write outside the log. A resource keeps the highest token seen and rejects lower
    ones: they are from a former leader that may not know that it was replaced.

    ``leader_epoch`` is the offset of the record that made it leader, in the log with this id. Ordering tokens of two
    logs raises ``LogReplaced``. Raises ``RequestRefused`` for values of other types: "10" would be lower than "9".
    """

    log_id: str
    leader_epoch: int

    def __post_init__(self) -> None:
        if not isinstance(self.log_id, str) or type(self.leader_epoch) is not int:
            given = f"{self.log_id!r:.80} and {self.leader_epoch!r:.80}"
            raise RequestRefused(f"a token has the id of a log, a text, and an epoch, a whole number, not {given}")

    def __lt__(self, other: "Token") -> bool:
        if not isinstance(other, Token):
            return NotImplemented
        if self.log_id != other.log_id:
            both = f"{self.log_id!r:.80} and {other.log_id!r:.80}"
            raise LogReplaced(f"the tokens are from two logs, {both}; if the log was replaced, reset the resource")
        return self.leader_epoch < other.leader_epoch


class Fence:
    """Admits only the writes of the newest leader. A resource stores ``highest`` with the write that raised it, in one
    transaction, and makes the next fence from what is stored.

    Args:
        highest: the highest token so far; None if no write came with one.
    """

    def __init__(self, highest: Token | None = None) -> None:
        self.highest = _token(highest)

    def admit(self, token: Token | None) -> bool:
        """Whether the token is a new one, to be stored with the write. None, for a write without a token, is admitted
        until the first token.

        Raises:
            RequestRefused: it is no token.
            LeaderReplaced: a newer leader has written, or the write has no token although others had one.
            LogReplaced: the token belongs to another log than the highest.
        """
        if _token(token) == self.highest:
            return False
        if self.highest is not None and (token is None or token < self.highest):
            given = "has no token" if token is None else f"is of epoch {token.leader_epoch}"
            raise LeaderReplaced(
                f"the leader of epoch {self.highest.leader_epoch} has written here, and this write {given}; only the "
                "leader may write, so stop if you are not"
            )
        self.highest = token
        return True


def _token(value: Token | None) -> Token | None:
    if not isinstance(value, Token | None):
        raise RequestRefused(f"{value!r:.80} is no Token; take that of leader_lease(), or make one from what is stored")
    return value
