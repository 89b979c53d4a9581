"""A folder as a repository, crash-safe at every step.

One ``apply`` has four phases, a module each:

1. ``plan``: the operations become the wanted state of every path they touch; new content goes into the ``stage``.
2. ``record``: that state and the new ledger become one file, the intent. Its rename into place is the commit.
3. ``roll_forward``: the steps of the intent are carried out. Each is idempotent.
4. ``store``: the intent is renamed again and thereby becomes the ledger.

After a crash, ``open`` finds an intent and repeats phase 3, or finds none and clears the stage.
"""

from callboard.backends.repositories.folder.repository import FolderRepository

__all__ = ["FolderRepository"]
