"""The fencing token of a leader."""

from dataclasses import dataclass
from functools import total_ordering

from callboard.errors import LogReplaced


@total_ordering
@dataclass(frozen=True, slots=True)
class Token:
    """What a leader shows with every write outside the log. A resource keeps the highest token that it has seen, and
    refuses every lower one: it is of a leader that was replaced and may not know it.

    ``leader_epoch`` is the offset of the record that made it the leader, in the log with this id. Tokens of two logs
    cannot be compared: that raises ``LogReplaced``, except for equality.
    """

    log_id: str
    leader_epoch: int

    def __lt__(self, other: "Token") -> bool:
        if not isinstance(other, Token):
            return NotImplemented
        if self.log_id != other.log_id:
            both = f"{self.log_id!r:.80} and {other.log_id!r:.80}"
            raise LogReplaced(f"the tokens are of two logs, {both}; reset the resource if the log was replaced")
        return self.leader_epoch < other.leader_epoch
