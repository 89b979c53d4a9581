"""Runs the checks of a suite: each passes, fails, or concerns something that is not declared."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any, TypeVar

H = TypeVar("H")
T = TypeVar("T")

CHECK_TIMEOUT_S = 180.0
"""Seconds: the slowest check restarts a server, which takes about ten; a check that takes this long hangs."""

HARNESS_WORDS = {
    "ANOTHER": "each of its objects has a database of its own",
    "CLOCK": "its clock cannot be moved",
    "DAMAGE": "its blobs cannot be written past the store",
    "GAPS": "no gap can be made in its offsets",
    "PROCESSES": "no other process can open it",
    "REPLACE": "its topics cannot be replaced",
    "RESTART": "it has no private server",
    "SQL": "no other program can use its database",
}
"""What a harness can leave out, and what that says of the backend; any other word is a ``Capability``."""


class NotDeclared(Exception):
    """The check concerns something that this backend or its harness does not declare; the text is its name."""


def given(what: T | None, word: str) -> T:
    """The attribute of the harness. Raises ``NotDeclared`` with one of ``HARNESS_WORDS`` if it is missing."""
    if what is None:
        raise NotDeclared(word)
    return what


@contextmanager
def raises(*kinds: type[Exception], by: object = "the call") -> Iterator[list[Exception]]:
    """Fail unless the block raises one of these; the list then holds it. ``by`` names in the failure what is tried."""
    caught: list[Exception] = []
    try:
        yield caught
    except kinds as error:
        caught.append(error)
    else:
        raise AssertionError(f"{by} raised nothing; expected {' or '.join(kind.__name__ for kind in kinds)}")


def checks_of(*subjects: ModuleType) -> tuple[Callable[[Any], Awaitable[None]], ...]:
    """The checks of a suite: the functions ``check_...`` of each module, in the order of the source."""
    return tuple(each for subject in subjects for name, each in vars(subject).items() if name.startswith("check_"))


async def verify(check: Callable[[H], Awaitable[None]], harness: H) -> str:
    """Run a check: "" if it passed, else the name of what it concerns and the backend does not declare.

    Raises what the check raises, usually ``AssertionError``, if the backend fails it.
    """
    try:
        async with asyncio.timeout(CHECK_TIMEOUT_S):
            await check(harness)
    except NotDeclared as word:
        return str(word)
    return ""


def explained(word: str) -> str:
    """Why a check that ended in ``NotDeclared`` does not apply."""
    if word in HARNESS_WORDS:
        return HARNESS_WORDS[word]
    return "declared, so there is nothing to refuse" if word.startswith("NOT_") else "not declared"
