"""The folder repository for asyncio."""

from pathlib import Path

from callboard.backends.repositories.folder.store import FolderStore
from callboard.backends.repositories.threaded import ThreadedRepository


class FolderRepository(ThreadedRepository):
    """Content as the files below ``root``, which is created if it is missing.

    Args:
        root: the folder; its subfolder ``.callboard`` belongs to the repository.
        exclude: names that an export leaves out, as patterns such as ``__pycache__``.
    """

    def __init__(self, root: Path, exclude: tuple[str, ...] = ()) -> None:
        super().__init__(FolderStore(root, exclude))
