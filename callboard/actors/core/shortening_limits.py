"""What of a topic stays although later records say more."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShorteningLimits:
    """A topic is shortened when it has ``slack`` offsets more than ``records``, to the newest so many, or to those of a
    time if that is more: ``announced_s`` seconds of announcements, and ``told_s`` of statuses and commands. A command
    that was not obeyed stays for ``pending_s``, and what is not archived for as long as an archive that was heard of.
    """

    records: int = 20_000
    """As many as a publisher reads before it answers; 10 MB of announcements."""
    slack: int = 5_000
    """So that the work is done rarely, and then for many records at once."""
    announced_s: float = 4000.0
    """More than twice as long as a claim to a name may live, which is half an hour at most. The oldest announcement
    left may be a claim that was refused; it lapses in the first half, and after that the holder's own word counts."""
    told_s: float = 3 * 86_400.0
    """A weekend: for so long a publisher may be away and still tell the events of all statuses."""
    pending_s: float = 30 * 86_400.0
    first_s: tuple[float, float] = (0.0, 30.0)
    """When after its start an agent looks first: of those that run for a moment, one in many does."""
    again_s: tuple[float, float] = (300.0, 600.0)
    """Then so far apart. A look at topics that are short costs three small questions to the log."""
