"""The fencing token of a leader."""

from dataclasses import dataclass
from functools import total_ordering

from callboard.errors import LogReplaced


@total_ordering
@dataclass(frozen=True, slots=True)
class Token:
    """Sent by a leader with every write outside the log. A resource keeps the highest token seen and rejects lower
    ones: they are from a former leader that may not know that it was replaced.

    ``leader_epoch`` is the offset of the record that made it leader, in the log with this id. Ordering tokens of two
    logs raises ``LogReplaced``.
    """

    log_id: str
    leader_epoch: int

    def __lt__(self, other: "Token") -> bool:
        if not isinstance(other, Token):
            return NotImplemented
        if self.log_id != other.log_id:
            both = f"{self.log_id!r:.80} and {other.log_id!r:.80}"
            raise LogReplaced(f"the tokens are from two logs, {both}; if the log was replaced, reset the resource")
        return self.leader_epoch < other.leader_epoch
