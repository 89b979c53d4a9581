"""When the queue cache's checkpoint is read, and written again."""

from collections.abc import Iterable

from callboard.actors.core.decision import Done, Effect, Failed, note
from callboard.actors.publisher.effects import LoadCheckpoint, SaveCheckpoint
from callboard.actors.publisher.queues.package_index import PackageIndex

SAVE_MIN = 5_000
"""Entries from which on a checkpoint is worth its file: fewer are counted in the tenth of a second."""

CHECKPOINT_OFFSETS = 5_000
"""How many offsets are read from the log rather than looked up in a checkpoint, which is read as a whole."""

SAVE_PART = 16
"""It is written again when it lacks this part of what it has: a restart then counts no more than that, and an entry is
written to the disk about as often."""


class Checkpointing:
    """Reads the checkpoint once, when packages far back are wanted for the first time; writes it when it lacks many.

    ``topic`` is the package topic; without one, there is no checkpoint.
    """

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._asked = False
        self.is_loading = self.is_saving = False
        self._covered = (0, 0)  # the range of the checkpoint

    def load(self, log_id: str, back: int) -> Iterable[Effect]:
        """Read it, if packages this many offsets back are wanted, unless that was begun."""
        if self._topic and not self._asked and back > CHECKPOINT_OFFSETS:
            self._asked = self.is_loading = True
            yield LoadCheckpoint(self._topic, log_id)

    def loaded(self, ended: Done | Failed) -> PackageIndex | None:
        """It was read; the index that it has, if it is right."""
        self.is_loading = False
        found: PackageIndex | None = ended.result if isinstance(ended, Done) else None
        self._covered = (found.start, found.stop) if found is not None else (0, 0)
        return found

    def save(self, index: PackageIndex | None) -> Iterable[Effect]:
        """Write it, if it lacks enough entries for this to be worth it."""
        if index is None or not self._asked or self.is_loading or self.is_saving:
            return
        start, stop = self._covered
        older, newer = index.through(start - 1), len(index) - index.through(stop - 1)
        if older >= SAVE_MIN or newer >= max(SAVE_MIN, (len(index) - newer) // SAVE_PART):
            self.is_saving, self._covered = True, (index.start, index.stop)
            yield SaveCheckpoint(self._topic, index.copy())

    def saved(self, ended: Done | Failed) -> Iterable[Effect]:
        """It was written, or could not be; then the next one is."""
        self.is_saving = False
        if problem := ended.result if isinstance(ended, Done) else str(ended.error):
            yield note("checkpoint.not_saved", "debug", reason=problem)
