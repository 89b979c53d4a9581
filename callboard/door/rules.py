"""Rules: each checks a value and returns it normalised, or says what it should be."""

import math
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from callboard.backends.echo import quoted
from callboard.backends.repositories.paths import PATH_BYTES_MAX, check_path
from callboard.door.limits import NAME_CHARS_MAX, PATTERN_CHARS_MAX, PATTERNS_MAX, PLACE_CHARS_MAX, SITES_MAX
from callboard.door.names import suggestion
from callboard.errors import CallboardError
from callboard.messages.headers import SEPARATOR

Rule = Callable[[Any], Any]
"""Returns the normalised value. Raises ``Unfit``."""

SHOWN_MAX = 100
"""Characters of a value in a message."""


class Unfit(Exception):
    """The value at ``where`` in the input is not what is expected."""

    def __init__(self, value: object, expected: str, where: str = "") -> None:
        super().__init__(expected)
        self.value, self.expected, self.where = value, expected, where


def checked(error: type[CallboardError], rules: Mapping[str, Rule], given: Mapping[str, Any]) -> dict[str, Any]:
    """The values, checked and normalised by their rules.

    Raises ``error`` for the first value that breaks its rule, and ``TypeError`` for an unknown name.
    """
    taken = {}
    for name, value in given.items():
        if name not in rules:
            close = suggestion(str(name), rules)  # in a mapping from outside, a key may be anything
            raise TypeError(f"there is no {name!r}; " + (f"did you mean {close}?" if close else _known(rules)))
        try:
            taken[name] = rules[name](value)
        except Unfit as unfit:
            raise error(f"{name}{unfit.where} is {shown(unfit.value)}, but should be {unfit.expected}") from None
    return taken


def whole(least: int, most: int) -> Rule:
    """An integer in a range; True and False do not count."""

    def rule(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise Unfit(value, f"a whole number from {least} to {most}")
        return value

    return rule


def number(least: float, most: float, *, above: bool = False) -> Rule:
    """A number in a range, with ``above`` excluding its least; NaN does not count."""

    def rule(value: Any) -> float:
        real = isinstance(value, int | float) and not isinstance(value, bool)
        if not real or not least <= value <= most or (above and value == least):
            begins = f"above {least:g}, up to" if above else f"from {least:g} to"
            raise Unfit(value, f"a number {begins} {most:g}")
        assert math.isfinite(value)
        return float(value)

    return rule


def flag(value: Any) -> bool:
    """True or False, not just a truthy value: ``"no"`` would be true."""
    if not isinstance(value, bool):
        raise Unfit(value, "True or False")
    return value


def text(most: int, *, least: int = 0, printable: bool = False) -> Rule:
    """A text of ``least`` to ``most`` characters that every log and database can hold."""
    kind = "printable characters" if printable else "characters, none of them NUL"
    expected = f"a text of {least} to {most} {kind}"

    def rule(value: Any) -> str:
        if not isinstance(value, str) or not least <= len(value) <= most or not is_storable(value):
            raise Unfit(value, expected)
        if printable and not value.isprintable():
            raise Unfit(value, expected)
        return plain(value)

    return rule


def plain(value: str) -> str:
    """The text itself, also of a member of an enum, whose ``str`` is its name."""
    return str.__str__(value)


def is_storable(value: str) -> bool:
    """Whether it is valid UTF-8 without NUL."""
    try:
        return b"\0" not in value.encode()
    except UnicodeEncodeError:
        return False


def is_name(value: str) -> bool:
    """Whether this is a valid name of a publisher or a subscriber."""
    return 0 < len(value) <= NAME_CHARS_MAX and value.isprintable() and value == value.strip() and "/" not in value


def name(value: Any) -> str:
    """The name of a publisher or a subscriber."""
    if not isinstance(value, str) or not is_name(value):
        raise Unfit(value, f"a name: up to {NAME_CHARS_MAX} printable characters without '/', or spaces at its ends")
    return plain(value)


def subscriber(value: Any) -> str:
    """The name of a subscriber, or for one behind relays ``SITE/SUBSCRIBER``."""
    parts = value.split(SEPARATOR) if isinstance(value, str) else []
    if not 0 < len(parts) <= SITES_MAX or not all(map(is_name, parts)):
        raise Unfit(
            value, f"a name, or SITE/NAME: each up to {NAME_CHARS_MAX} printable characters, no spaces at its ends"
        )
    return plain(value)


def name_or_none(value: Any) -> str:
    """A name, or the empty text, which means none or all."""
    return "" if isinstance(value, str) and not value else name(value)


def choice(*choices: str) -> Rule:
    """One of these words."""

    def rule(value: Any) -> str:
        if not isinstance(value, str) or value not in choices:
            raise Unfit(value, f"one of {', '.join(choices)}")
        return plain(value)

    return rule


def optional(rule: Rule) -> Rule:
    """None, or a value that follows the rule."""
    return lambda value: None if value is None else rule(value)


def several(rule: Rule, most: int, *, least: Literal[0, 1] = 0) -> Rule:
    """A collection of values, as a tuple. A single text does not count: its characters are never meant."""

    def each(value: Any) -> tuple[Any, ...]:
        if isinstance(value, str | bytes | bytearray | os.PathLike):
            raise Unfit(value, f"a list, such as [{shown(value)}]")
        if isinstance(value, Mapping) or not isinstance(value, Iterable):
            raise Unfit(value, "a list")
        items = tuple(islice(value, most + 1))
        if len(items) < least:
            raise Unfit(items, "a list with at least one in it")
        if len(items) > most:
            raise Unfit(items, f"a list of {most} at most")
        return tuple(_at(f"[{place}]", rule, item) for place, item in enumerate(items))

    return each


def lasting(rule: Rule) -> Rule:
    """A collection that is kept as it is, so it must be iterable more than once."""

    def taken(value: Any) -> Any:
        if not isinstance(value, Collection):
            raise Unfit(value, "a list")
        rule(value)
        return value

    return taken


def pairs(key: Rule, value: Rule, most: int) -> Rule:
    """A mapping, as a sorted tuple of pairs."""

    def rule(given: Any) -> tuple[tuple[Any, Any], ...]:
        if not isinstance(given, Mapping) or len(given) > most:
            raise Unfit(given, f"a mapping with up to {most} keys")
        taken = [(_at(" has a key that", key, name), _at(f"[{shown(name)}]", value, given[name])) for name in given]
        return tuple(sorted(taken))

    return rule


def instance_of(kind: type, /, **rules: Rule) -> Rule:
    """An object of this class, whose attributes follow these rules."""

    def rule(value: Any) -> Any:
        if not isinstance(value, kind):
            raise Unfit(value, f"a {kind.__name__}")
        for attribute, its in rules.items():
            _at(f".{attribute}", its, getattr(value, attribute))
        return value

    return rule


def path(value: Any) -> str:
    """A path of content. Raises ``RequestRefused`` for an invalid one."""
    if not isinstance(value, str) or len(value) > PATH_BYTES_MAX:
        raise Unfit(value, f"a path of content, up to {PATH_BYTES_MAX} bytes, such as /blog")
    return check_path(plain(value))


def place(value: Any) -> str:
    """A folder, a file or a URL."""
    given = os.fspath(value) if isinstance(value, Path) else value
    if not isinstance(given, str) or not 0 < len(given) <= PLACE_CHARS_MAX or not is_storable(given):
        raise Unfit(value, f"a path or URL, in UTF-8, of up to {PLACE_CHARS_MAX} characters")
    return plain(given)


def place_or_none(value: Any) -> str:
    """A place, or the empty text for none."""
    return "" if isinstance(value, str) and not value else place(value)


def pattern(value: Any) -> str:
    """A pattern of names, or, with ``/``, of paths from the root."""
    if not isinstance(value, str) or not 0 < len(value) <= PATTERN_CHARS_MAX or not is_storable(value):
        raise Unfit(value, f"a pattern of up to {PATTERN_CHARS_MAX} characters, such as *.html or /blog/**")
    if not value.strip("/") or {"", ".", ".."} & set(value.strip("/").split("/")):
        raise Unfit(value, "a pattern without empty names, '.' and '..', such as *.html or /blog/**")
    return plain(value)


PATTERNS = several(pattern, PATTERNS_MAX)


def shown(value: object) -> str:
    """The value for people: short, without passwords, and with unprintable characters escaped."""
    written = quoted(value)
    written = written if written.isprintable() else ascii(written)
    return written if len(written) <= SHOWN_MAX else f"{written[: SHOWN_MAX - 3]}..."


def _at(where: str, rule: Rule, value: Any) -> Any:
    try:
        return rule(value)
    except Unfit as unfit:
        raise Unfit(unfit.value, unfit.expected, where + unfit.where) from None


def _known(rules: Mapping[str, Rule]) -> str:
    return f"known here: {', '.join(rules)}"
