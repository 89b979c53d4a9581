"""Error messages for settings: one clear sentence for each problem."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from callboard.backends.address import HIDDEN, is_shown_in_full
from callboard.backends.echo import masked, quoted
from callboard.config.model import Config, RelaySection, SourcesSection
from callboard.config.sources import Key, Value, names_keys
from callboard.door.names import suggestion

WORDS = {
    "bool_parsing": "should be true or false",
    "bool_type": "should be true or false",
    "greater_than": "should be above {gt:g}",
    "greater_than_equal": "should be at least {ge:g}",
    "less_than_equal": "should be at most {le:g}",
    "model_type": "should be a section with settings in it",
    "dict_type": "should be a section with settings in it",
}
"""Pydantic's error types in the words of a configuration's author."""

RENAMED = {
    "command_key": "set signing_key, which signs all messages from here",
    "command_keys": "set trusted_keys at the top level, for the whole board, and signing_key beside it",
}
"""Former settings and their replacements."""


def sentences(error: ValidationError, given: Mapping[Key, Value]) -> tuple[str, ...]:
    """All problems, one line each, naming the setting and its origin."""
    lines = (_sentence(problem, given) for problem in error.errors(include_url=False))
    return tuple(dict.fromkeys(lines))  # a value of [subscriber] is checked for every [subscribers.NAME]


def known_keys(section: Key) -> tuple[str, ...]:
    """The keys of a section; none for an unknown section."""
    model: type[BaseModel] = Config
    for name in section:
        if name == "subscribers":
            return known_keys(("subscriber",))  # any name is valid here
        if name == "publishers":
            return tuple(SourcesSection.model_fields)
        if name == "relays":
            return tuple(RelaySection.model_fields)
        field = model.model_fields.get(name)
        if field is None or not isinstance(field.annotation, type) or not issubclass(field.annotation, BaseModel):
            return ()
        model = field.annotation
    return tuple(model.model_fields)


def _sentence(problem: ErrorDetails, given: Mapping[Key, Value]) -> str:
    key: Key = tuple(str(part) for part in problem["loc"])
    inherited = ("subscriber", *key[2:]) if key[:1] == ("subscribers",) else key
    value = given.get(key) or given.get(inherited)
    if problem["type"] == "extra_forbidden":
        return _origin(value or _inside(key, given)) + _unknown(key)
    reason = _reason(problem)
    if value is not None:
        found = HIDDEN if names_keys(value.key) else _shown(value.value)
        return f"{value.origin}: {_named(value.key)} is {found}, but {reason}"
    # The problem may be about several settings of a section: blame the first that was set.
    blamed = (value for value in given.values() if value.key[:-1] in (key, inherited) and value.key[-1] in reason)
    return f"{_origin(next(blamed, None))}[{_named(inherited)}] {reason}"


def _inside(section: Key, given: Mapping[Key, Value]) -> Value | None:
    """The first value in a section."""
    return next((value for value in given.values() if value.key[: len(section)] == section), None)


def _origin(value: Value | None) -> str:
    return f"{value.origin}: " if value else ""


def _reason(problem: ErrorDetails) -> str:
    """What is expected: in our words for common mistakes, in pydantic's for the rest."""
    kind, limits = problem["type"], problem.get("ctx", {})
    if kind in WORDS:
        return WORDS[kind].format_map(limits)
    if kind == "value_error":
        return masked(limits["error"])
    text = problem["msg"].replace("Input should be", "should be")
    return text.partition(", unable to parse")[0].partition(", got ")[0]


def _unknown(key: Key) -> str:
    if key[-1] in RENAMED:
        return f"{key[-1]} was removed; {RENAMED[key[-1]]}"
    section, known = _named(key[:-1]), known_keys(key[:-1])
    where = f"in [{section}]" if section else "at the top level"
    close = suggestion(key[-1], known)
    fix = f"did you mean {close}?" if close else f"known here: {', '.join(known)}"
    return f"unknown key {quoted(key[-1])} {where}; {fix}"


def _named(key: Key) -> str:
    """The key for people, without the password of a URL written there by mistake."""
    return ".".join(name if is_shown_in_full(name) else HIDDEN for name in key)


def _shown(value: Any) -> str:
    if isinstance(value, list | dict):  # any part may be a URL
        return "a list" if isinstance(value, list) else "a section"
    return quoted(value)
