"""Folders for temporary files, that nobody else can have made before or look into.

The place for them is shared with other users, so each folder gets a name that cannot be guessed, behind a prefix by
which those that a killed process left are found.
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
    """Remove what was made with this prefix, with all that is in it, and nothing of other users."""
    with suppress(OSError), os.scandir(prefix.parent) as entries:
        for entry in entries:
            if entry.name.startswith(f"{prefix.name}-") and entry.is_dir(follow_symlinks=False):
                with suppress(OSError):
                    if entry.stat(follow_symlinks=False).st_uid == os.geteuid():
                        shutil.rmtree(entry.path)
