"""The folder repository for asyncio."""

from collections.abc import Sequence
from pathlib import Path

from callboard.backends.examination import Clock, Finding
from callboard.backends.local.folder_examination import examine_place
from callboard.backends.repositories.folder.store import FolderStore
from callboard.backends.repositories.threaded import ThreadedRepository


class FolderRepository(ThreadedRepository):
    """Content as the files below ``root``, which is created if it is missing.

    Args:
        root: the folder; its subfolder ``.callboard`` belongs to the repository.
    """

    def __init__(self, root: Path) -> None:
        super().__init__(FolderStore(root))
        self._root = root

    async def examine(self, clock: Clock) -> Sequence[Finding]:  # noqa: ARG002 - there is no server's clock to compare
        """See ``Examinable``; does not take the repository's lock."""
        return examine_place("repository", self._root)
