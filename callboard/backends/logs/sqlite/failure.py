"""Turns errors of SQLite and the operating system into callboard's, with advice."""

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from callboard.errors import ConfigError, LogUnavailable

_SQLITE_ADVICE = {
    "SQLITE_FULL": "the disk is full: free some space",
    "SQLITE_READONLY": "it cannot be written: check owner and mode of the file and its folder, and the mount",
    "SQLITE_CANTOPEN": "it cannot be opened: check that its folder may be read and written, and ulimit -n",
    "SQLITE_PERM": "access was denied: check the owner and mode of the file and its folder",
    "SQLITE_IOERR": "the disk or a file limit failed it: check the disk, quotas and ulimit",
    "SQLITE_BUSY": "another program keeps it locked: end the other programs that have the file open",
    "SQLITE_CORRUPT": "the file is damaged: stop the board and restore a copy",
}
_SYSTEM_ADVICE = {
    errno.ENOSPC: "the disk is full: free some space",
    errno.EDQUOT: "the disk quota is used up: free some space",
    errno.EACCES: "access was denied: check the owner and mode of the file and its folder",
    errno.EROFS: "the file system is mounted read-only, which is enough for looking only: mount it for writing",
    errno.EINVAL: "a link, a pipe or a folder is in the place of this file: remove it",
    errno.EMFILE: "this process has too many open files: raise ulimit -n",
}

UNKNOWN_OUTCOME = "Whether the records were written is unknown: append them again with the same keys"


@contextmanager
def explained(path: Path, consequence: str = "Then try again") -> Iterator[None]:
    """Raise ``LogUnavailable`` or ``ConfigError`` for an error from using the file at ``path``."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "")
        if name == "SQLITE_NOTADB":
            raise ConfigError(f"{path} is not a log of callboard; move it away or choose another folder") from error
        advice = next((text for code, text in _SQLITE_ADVICE.items() if name.startswith(code)), name)
        raise LogUnavailable(f"{path}: {error}; {advice}. {consequence}") from error
    except (NotADirectoryError, FileExistsError) as error:
        raise ConfigError(f"{path} needs a folder, but {error.filename} is a file; choose another") from error
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        advice = _SYSTEM_ADVICE.get(error.errno or 0, "check the file and its folder")
        where = error.filename if error.errno == errno.EINVAL else path
        raise LogUnavailable(f"{where}: {reason}; {advice}. {consequence}") from error
