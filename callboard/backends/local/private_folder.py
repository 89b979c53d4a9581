"""Folders for temporary files, which no other user can create in advance or look into.

They are created in a place shared with other users, so each gets an unguessable name, after a prefix by which the
leftovers of a killed process are found.
"""

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path


def make(prefix: Path) -> Path:
    """A new folder of mode 700, whose path begins with ``prefix``. Raises ``OSError``."""
    prefix.parent.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=f"{prefix.name}-", dir=prefix.parent))


def remove_left(prefix: Path) -> None:
    """Remove this user's folders with this prefix and everything in them; those of other users stay."""
    with suppress(OSError), os.scandir(prefix.parent) as entries:
        for entry in entries:
            if entry.name.startswith(f"{prefix.name}-") and entry.is_dir(follow_symlinks=False):
                with suppress(OSError):
                    if entry.stat(follow_symlinks=False).st_uid == os.geteuid():
                        shutil.rmtree(entry.path)
