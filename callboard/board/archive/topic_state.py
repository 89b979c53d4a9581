"""How far a topic is archived."""

from dataclasses import dataclass

from callboard.archive.files.manifest import Hole


@dataclass(frozen=True, slots=True)
class TopicState:
    """How much of a topic is archived, and where the log ends; ``problem`` says why archiving cannot continue."""

    topic: str
    first: int = 0
    next: int = 0
    rows: int = 0
    files: int = 0
    length: int = 0
    generation: int = 0
    manifests: int = 0
    holes: tuple[Hole, ...] = ()
    log_end: int = 0
    problem: str = ""
