"""The id of an instance, kept on its host."""

import asyncio
import fcntl
import json
import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from callboard.backends.local.disk import write_all
from callboard.backends.local.file_locks import kept_by, lock_holder
from callboard.board.context import BoardContext
from callboard.errors import ConfigError, MembershipEnded
from callboard.messages.topology.limits import NAME
from callboard.messages.topology.member_mail import MemberProblem

FILE = ".callboard-member.json"
READ_MAX = 4096


class Identity:
    """An instance id and its former incarnation, in a file that is locked as long as this is open.

    The former incarnation lets a restarted process take its place at once. A copy of the file keeps the id, but not
    this right: so two processes with one id are noticed as such.
    """

    def __init__(self, instance: str, previous: str = "", descriptor: int = -1) -> None:
        self.instance, self.previous = instance, previous
        self._descriptor = descriptor
        self._writing = threading.Lock()  # once closed, the descriptor may be another file's

    @classmethod
    def claim(cls, folder: Path, new_id: Callable[[], str]) -> Self:
        """The identity that is kept in this folder; the first time, a new one.

        Raises:
            MembershipEnded: another process of this host has it; its code is ``duplicate_id``.
            ConfigError: the file cannot be read or written, or is damaged.
        """
        path = folder / FILE
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ConfigError(
                f"{path} cannot be opened: {error.strerror}; set instance to an id of your own"
            ) from error
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                why = f"{_kept_by(descriptor, path)}, or set instance to another id (--member)"
                raise MembershipEnded(why, code=MemberProblem.DUPLICATE_ID) from None
            kept = _kept(descriptor, path)
        except BaseException:
            os.close(descriptor)
            raise
        own = kept.get("place") == _place(descriptor)
        return cls(kept.get("instance") or new_id(), kept.get("incarnation", "") if own else "", descriptor)

    def keep(self, incarnation: str) -> None:
        """Note the incarnation that now begins. Raises ``ConfigError``."""
        with self._writing:
            if self._descriptor < 0:
                return
            kept = {"instance": self.instance, "incarnation": incarnation, "place": _place(self._descriptor)}
            try:
                os.lseek(self._descriptor, 0, os.SEEK_SET)
                text = json.dumps(kept).encode()
                write_all(self._descriptor, text)
                os.ftruncate(self._descriptor, len(text))  # not before, as the disk may be full
                os.fsync(self._descriptor)
            except OSError as error:
                raise ConfigError(f"{FILE} cannot be written: {error.strerror}") from error

    def close(self) -> None:
        """Let another process have it. Idempotent."""
        with self._writing, suppress(OSError):
            if self._descriptor >= 0:
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)  # a forked child may still have it open
                os.close(self._descriptor)
            self._descriptor = -1


async def claimed(instance: str, board: BoardContext) -> Identity:
    """``identity_of``, without blocking; if it is cancelled, nothing stays claimed."""
    claiming = asyncio.create_task(asyncio.to_thread(identity_of, instance, board))
    try:
        return await asyncio.shield(claiming)
    except asyncio.CancelledError:
        claiming.add_done_callback(_give_up)
        await asyncio.wait({claiming})
        raise


def _give_up(claiming: asyncio.Task[Identity]) -> None:
    if not claiming.cancelled() and claiming.exception() is None:
        claiming.result().close()


def identity_of(instance: str, board: BoardContext) -> Identity:
    """The identity with this instance id or, if it is empty, the one kept in the board's folder. Raises as ``claim``.

    A cluster in memory does not outlive the process, nor does an identity in it.
    """
    if instance or board.settings.log.startswith("memory:"):
        return Identity(instance or board.new_id())
    return Identity.claim(board.settings.base, board.new_id)


def _kept_by(descriptor: int, path: Path) -> str:
    if lock_holder(os.fstat(descriptor)) == os.getpid():
        return f"another member of this process keeps {path}; stop it first"
    return kept_by(descriptor, path)


def _kept(descriptor: int, path: Path) -> dict[str, Any]:
    text = os.read(descriptor, READ_MAX)
    if not text:
        return {}
    try:
        kept = json.loads(text)
        ids = kept["instance"], kept["incarnation"]
        if not all(isinstance(each, str) and NAME.fullmatch(each) for each in ids):
            raise ValueError("it has no valid id")
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path} is damaged: {error}; remove it, and this becomes a new instance") from error
    return dict(kept)


def _place(descriptor: int) -> str:
    """Where the file is: another one for a copy."""
    status = os.fstat(descriptor)
    return f"{socket.gethostname()}:{status.st_dev}:{status.st_ino}"
