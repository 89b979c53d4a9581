"""A folder as a repository, crash-safe at every step.

One ``apply`` goes through four phases, a file each:

1. ``plan``: the operations become the wanted state of every path they touch; new content is put in ``stage``.
2. ``record``: that state and the new ledger become one file, the intent. Its rename into place is the commit.
3. ``roll_forward``: the steps of the intent are carried out. Each may be repeated without harm.
4. ``store``: the intent is renamed once more and thereby becomes the ledger.

After a crash, ``open`` finds an intent and repeats phase 3, or finds none and clears the stage.
"""

from callboard.backends.repositories.folder.repository import FolderRepository

__all__ = ["FolderRepository"]
