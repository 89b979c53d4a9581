"""Checks requests to a publisher."""

from collections.abc import Mapping
from typing import Any

from callboard.backends.address import is_mistaken, is_shown_in_full
from callboard.door import limits
from callboard.door.rules import (
    Rule,
    Unfit,
    checked,
    flag,
    number,
    optional,
    pairs,
    path,
    place,
    several,
    subscriber,
    text,
)
from callboard.errors import RequestRefused

OPTIONS: dict[str, Rule] = {
    "request_id": text(limits.ID_CHARS_MAX, printable=True),
    "recipients": several(subscriber, limits.NAMES_MAX),
    "expect": flag,
    "user": text(limits.ID_CHARS_MAX),
    "metadata": pairs(text(limits.ID_CHARS_MAX, least=1), text(limits.TEXT_CHARS_MAX), limits.METADATA_MAX),
    "timeout_s": number(0, limits.TIMEOUT_S_MAX),
}
"""See ``RequestOptions``."""


def folder(value: Any) -> str:
    """The folder to ship."""
    given = place(value)
    if is_mistaken(given):
        raise Unfit(value, "a folder; it looks like an address with a password, so give the whole path")
    return given


def source_name(value: Any) -> str:
    """A folder's name on the log, which everyone reads."""
    given: str = text(limits.PLACE_CHARS_MAX)(value)
    if "://" in given and not is_shown_in_full(given):
        raise Unfit(value, "a name; a URL without user, password and options is one")
    return given


ARGUMENTS: dict[str, Rule] = {
    "source": folder,
    "paths": several(path, limits.PATHS_MAX, least=1),
    "at": path,
    "deep": flag,
    "full": flag,
    "source_name": optional(source_name),
    "replace_root": flag,
}


def request(arguments: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments and options of a request, checked. Raises ``RequestRefused``, and ``TypeError``."""
    return checked(RequestRefused, ARGUMENTS, arguments) | checked(RequestRefused, OPTIONS, options)
