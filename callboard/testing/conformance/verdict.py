"""The checks of a suite, and carrying one out: it passes, it fails, or it is about something that is not declared."""

import asyncio
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any, TypeVar

H = TypeVar("H")
T = TypeVar("T")

CHECK_TIMEOUT_S = 180.0
"""The slowest check restarts a server, which takes some ten seconds; what takes this long hangs."""

HARNESS_WORDS = {
    "CLOCK": "its clock cannot be moved",
    "DAMAGE": "nobody can write into its blobs past the store",
    "GAPS": "no gap can be made in its offsets",
    "PROCESSES": "no other process can open it",
    "REPLACE": "nobody can put another topic in the place of one",
    "RESTART": "no server of one's own stands behind it",
}
"""What a harness can leave out, and what that says about the backend; anything else is a ``Capability``."""


class NotDeclared(Exception):
    """The check is about something that this backend or its harness does not declare; the text is its name."""


def given(what: T | None, word: str) -> T:
    """What the harness brings. Raises ``NotDeclared`` with one of ``HARNESS_WORDS`` if it leaves that out."""
    if what is None:
        raise NotDeclared(word)
    return what


def checks_of(*subjects: ModuleType) -> tuple[Callable[[Any], Awaitable[None]], ...]:
    """The checks of a suite: of each subject what its module calls ``check_...``, in the order in which it stands."""
    return tuple(each for subject in subjects for name, each in vars(subject).items() if name.startswith("check_"))


async def verify(check: Callable[[H], Awaitable[None]], harness: H) -> str:
    """Carry out a check: "" when it passed, else the name of what it is about and the backend does not declare.

    Raises whatever the check raises, above all ``AssertionError``, when the backend fails it.
    """
    try:
        async with asyncio.timeout(CHECK_TIMEOUT_S):
            await check(harness)
    except NotDeclared as word:
        return str(word)
    return ""


def explained(word: str) -> str:
    """Why a check that ended in ``NotDeclared`` does not apply, in words."""
    if word in HARNESS_WORDS:
        return HARNESS_WORDS[word]
    return "declared, so there is nothing to refuse" if word.startswith("NOT_") else "not declared"
