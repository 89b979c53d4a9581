"""What a request to a publisher may say."""

from collections.abc import Mapping
from typing import Any

from callboard.door.limits import (
    ID_CHARS_MAX,
    METADATA_MAX,
    NAMES_MAX,
    PATHS_MAX,
    PLACE_CHARS_MAX,
    TEXT_CHARS_MAX,
    TIMEOUT_S_MAX,
)
from callboard.door.rules import Rule, checked, flag, name, number, optional, pairs, path, place, several, text
from callboard.errors import RequestRefused

OPTIONS: dict[str, Rule] = {
    "request_id": text(ID_CHARS_MAX, printable=True),
    "recipients": several(name, NAMES_MAX),
    "expect": flag,
    "user": text(ID_CHARS_MAX),
    "metadata": pairs(text(ID_CHARS_MAX, least=1), text(TEXT_CHARS_MAX), METADATA_MAX),
    "timeout_s": number(0, TIMEOUT_S_MAX),
}
"""See ``RequestOptions``."""

ARGUMENTS: dict[str, Rule] = {
    "source": place,
    "paths": several(path, PATHS_MAX, least=1),
    "at": path,
    "deep": flag,
    "source_name": optional(text(PLACE_CHARS_MAX)),
    "replace_root": flag,
}


def request(arguments: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """What is asked for, and the options, as they are used. Raises ``RequestRefused``, and ``TypeError``."""
    return checked(RequestRefused, ARGUMENTS, arguments) | checked(RequestRefused, OPTIONS, options)
