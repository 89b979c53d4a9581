"""What a topic keeps although later records supersede it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShorteningLimits:
    """A topic is shortened when it has ``slack`` offsets more than ``records``: to the newest ``records``, or to
    those of a period if these are more: ``announced_s`` seconds of announcements, ``told_s`` of statuses and commands.
    A command not yet accepted stays for ``pending_s``; so does a record that an archive heard of does not have yet.
    """

    records: int = 20_000
    """Records to keep: as many as a publisher reads before it answers. Announcements take 10 MB."""
    slack: int = 5_000
    """Makes shortening rare, and each run worth its cost."""
    announced_s: float = 4000.0
    """More than twice the longest lease, which is half an hour. The oldest announcement left may be a claim that was
    refused; it lapses in the first half, and after that the holder's own announcement counts."""
    told_s: float = 3 * 86_400.0
    """A weekend: a publisher may be away this long and still write the events of all statuses."""
    pending_s: float = 30 * 86_400.0
    first_s: tuple[float, float] = (0.0, 30.0)
    """Delay of the first check after the start: of short-lived agents only few ever check."""
    again_s: tuple[float, float] = (300.0, 600.0)
    """Interval of later checks. Checking short topics costs three small queries to the log."""
