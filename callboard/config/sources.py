"""Sources of settings: each yields values, and each value knows its origin."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from callboard.backends.address import is_mistaken
from callboard.backends.echo import quoted
from callboard.door.names import suggestion
from callboard.errors import ConfigError

FILE = "callboard.toml"
LOG = "sqlite:///./board.db"
"""The default log: a folder, created by `callboard init`."""

PREFIX = "CALLBOARD_"
NESTED = "__"
CONFIG_VARIABLE = "CALLBOARD_CONFIG"
"""Names the configuration file, as ``--config`` does."""

_OF_THE_SURROUNDINGS = re.compile(r"CALLBOARD_(SERVICE_(HOST|PORT(_\w+)?)|PORT(_\d+_(TCP|UDP|SCTP)(_\w+)?)?)")
"""Variables that Kubernetes and Docker set for a service named callboard."""

Key = tuple[str, ...]

FORMER = {"command_key"}
"""Settings of older versions, which are reported rather than ignored as unrelated variables."""

FILES: frozenset[Key] = frozenset({
    ("publisher", "source"), ("retention", "archive_tip"), ("console", "users"), ("console", "tls_cert"),
    ("console", "tls_key"), ("console", "oidc_secret_file"), ("console", "session_secret_file"),
})  # fmt: skip
"""Settings that name a file or a folder."""

_LINE = re.compile(r"\s*(?:(\[[^\[\]]+\])|([\w./\"'-]+)\s*=)")


class Value(NamedTuple):
    """One setting as written, and its origin in words for people. Its ``repr`` leaves out what may be secret."""

    key: Key
    value: Any
    origin: str

    def __repr__(self) -> str:
        return f"Value(key={self.key!r}, origin={self.origin!r})"


def is_there(path: Path) -> bool:
    """Whether the file exists. Raises ``ConfigError`` if this user has no permission to look."""
    try:
        return path.is_file()
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be checked: {error.strerror}; run: chmod u+rwx {path.parent}, or give another --config"
        ) from error


def from_file(path: Path) -> Iterator[Value]:
    """The values in a TOML file. Raises ``ConfigError`` if it cannot be read or is not TOML."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}; correct --config or write the file") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not TOML: {error}; correct it there") from error
    try:
        tables = tomllib.loads(text)
        lines, values = _lines(text), list(_flat((), tables))
    except ValueError as error:  # or for a number with thousands of digits
        raise ConfigError(f"{path} is not TOML: {error}; correct it there") from error
    except RecursionError:
        raise ConfigError(f"{path} nests sections or lists hundreds deep; correct it there") from None
    for key, value in values:
        line = f":{lines[key]}" if key in lines else ""
        yield Value(key, value, f"{path.name}{line}")


def from_environment(environ: Mapping[str, str], names: Iterable[str]) -> Iterator[Value]:
    """The values in ``CALLBOARD_...`` variables; empty ones count as not set.

    Variables that resemble no setting are ignored: container platforms set some for every service, such as
    ``CALLBOARD_SERVICE_HOST`` for one named callboard.

    Args:
        environ: all variables.
        names: the settings, as ``section.key``.

    Raises:
        ConfigError: a variable resembles a setting but is none.
    """
    known = {PREFIX + name.replace(".", NESTED).upper() for name in names}
    sections = {_key(name)[0] for name in known} | FORMER
    for name, text in sorted(environ.items()):
        key = _key(name)
        if not text or not key or name == CONFIG_VARIABLE or _OF_THE_SURROUNDINGS.fullmatch(name):
            continue
        if key[0] in sections:
            yield Value(key, text, name)
        elif meant := _meant(name, known):
            raise ConfigError(f"variable {name} is not a setting; did you mean {meant}? Rename it, or unset it")


def anchored(value: Value, base: Path) -> Value:
    """The value; a relative path is made absolute, starting from ``base``."""
    if names_keys(value.key):
        return value._replace(value=_anchored_keys(value.value, base))
    if not isinstance(value.value, str) or not value.value:
        return value
    match value.key:
        case ("log",) | ("relays", _, "to"):
            return value._replace(value=_anchored_url(value.value, base))
        case (
            ("blobs",)
            | ("archive", "place")
            | ("subscriber", "into")
            | ("subscribers", _, "into")
            | ("relays", _, "to_blobs" | "ledger")
        ):
            return value._replace(value=_anchored_place(value.value, base))
        case key if key in FILES:
            return value if is_mistaken(value.value) else value._replace(value=str(base / value.value))
        case _:
            return value


def demand_names(value: Value) -> None:
    """Raise ``ConfigError`` for text that cannot name a file or host: with a NUL, or not valid Unicode."""
    for text in (*value.key, *(value.value if isinstance(value.value, list) else [value.value])):
        if isinstance(text, str) and ("\0" in text or _is_broken(text)):
            what = value.key[-1] if names_keys(value.key) else quoted(text)
            raise ConfigError(f"{value.origin}: {what} holds a NUL or is not UTF-8; correct it")


def names_keys(setting: Key) -> bool:
    """Whether its value names keys. It is never shown, because a user may have put the secret itself there."""
    return setting[-1] in ("signing_key", "trusted_keys")


def nested(values: Iterable[Value]) -> dict[str, Any]:
    """The values as nested tables. Raises ``ConfigError`` where a table and a plain value conflict."""
    tables: dict[str, Any] = {}
    for key, value, origin in values:
        table = tables
        for name in key[:-1]:
            table = table.setdefault(name, {})
            if not isinstance(table, dict):
                raise ConfigError(f"{origin}: {name} is a section with settings in it, not a value; correct it")
        if value == {}:
            table.setdefault(key[-1], {})
        else:
            table[key[-1]] = value
    return tables


def _meant(name: str, known: Iterable[str]) -> str:
    """The variable that was probably meant, or the empty string; compared without the common prefix."""
    meant = suggestion(name.removeprefix(PREFIX), (each.removeprefix(PREFIX) for each in known))
    return meant and PREFIX + meant


def _is_broken(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _key(name: str) -> Key:
    return tuple(name.removeprefix(PREFIX).lower().split(NESTED)) if name.startswith(PREFIX) else ()


def _flat(above: Key, table: Mapping[str, Any]) -> Iterator[tuple[Key, Any]]:
    for name, value in table.items():
        if isinstance(value, dict) and value:
            yield from _flat((*above, name), value)
        else:
            yield (*above, name), value


def _lines(text: str) -> dict[Key, int]:
    """The line on which each key is set, as far as can be found without a parser."""
    lines: dict[Key, int] = {}
    section: Key = ()
    for number, line in enumerate(text.splitlines(), start=1):
        match = _LINE.match(line)
        try:
            if match and match[1]:
                section = _path(tomllib.loads(match[1]))
            elif match:
                lines[section + _path(tomllib.loads(f"{match[2]} = {{}}"))] = number
        except tomllib.TOMLDecodeError:
            continue  # a line of a multi-line string
    return lines


def _path(tables: Mapping[str, Any]) -> Key:
    """The path of nested tables that each hold a single key."""
    return next(((name, *_path(below)) for name, below in tables.items()), ())


def _anchored_keys(keys: Any, base: Path) -> Any:
    """Each as ``NAME=FILE``; one text may hold several, separated by commas."""
    if isinstance(keys, str):
        return ",".join(_anchored_keys(keys.split(","), base)) if keys else keys
    if not isinstance(keys, list):
        return keys
    parts = [key.strip().partition("=") if isinstance(key, str) else (key, "", "") for key in keys]
    return [f"{name}={base / file}" if file else name for name, _, file in parts]


def _anchored_url(url: str, base: Path) -> str:
    scheme, slashes, path = url.partition("///")
    if scheme != "sqlite:" or not path or is_mistaken(path):
        return url
    return f"{scheme}{slashes}{base / path}"


def _anchored_place(place: str, base: Path) -> str:
    kind, colon, path = place.partition(":")
    if is_mistaken(place) or path.startswith(("///./", "///../")):  # left as it is, and rejected when opened
        return place
    if not colon or "/" in kind:
        return str(base / place)
    return f"{kind}:{base / path}" if path and kind in ("folder", "sqlite") else place
