"""Runs a part of a test without the superuser's rights, to whom permissions mean nothing."""

import os
import traceback
from collections.abc import Callable

NOBODY = 65534


def as_ordinary_user(body: Callable[[], str | None]) -> str:
    """What the body returns, run in a child process as an ordinary user. Raises ``AssertionError`` if it fails."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setresgid(NOBODY, NOBODY, NOBODY)
                os.setresuid(NOBODY, NOBODY, NOBODY)
            answer = b"+" + (body() or "").encode()
        except BaseException:  # noqa: BLE001 - the parent raises it
            answer = b"-" + traceback.format_exc().encode()[-60_000:]
        try:
            os.write(write, answer)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as answered:
        text = answered.read().decode()
    os.waitpid(child, 0)
    assert text[:1] == "+", text[1:] or "the child ended without an answer"
    return text[1:]
