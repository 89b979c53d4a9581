"""Templates for payloads: which of their properties have which values."""

import json
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from callboard.door.rules import shown
from callboard.errors import RequestRefused

Value = str | int | float | bool | datetime | None
Template = Mapping[str, Value]

TEMPLATES_MAX = 100
"""Templates of one question, and conditions of one template."""

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "": operator.eq, "=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
KEY = re.compile(r"(?P<before><=|>=|<|>|=|)\s*(?P<name>.*?[^<>=\s])\s*(?P<after><=|>=|<|>|=|)", re.DOTALL)
CONDITION = re.compile(r"(?P<name>.*?)\s*(?P<operator><=|>=|<|>|=)\s*(?P<value>.*)", re.DOTALL)
DATE = re.compile(r"\d{4}-\d\d-\d\d([T ].*)?")


class Condition(NamedTuple):
    """What one property of a payload must be."""

    name: str
    operator: str
    value: Value

    def holds(self, payload: Mapping[str, object]) -> bool:
        """Whether the payload has the property, with a value of the same kind for which this holds."""
        if self.name not in payload:
            return False
        mine, wanted = payload[self.name], self.value
        if (moments := (_moment(mine), _moment(wanted))) and None not in moments:
            mine, wanted = moments
        if _kind(mine) is not _kind(wanted) or (_kind(mine) in (bool, type(None)) and self.operator.strip("=")):
            return False
        return OPERATORS[self.operator](mine, wanted)


def conditions(where: Template | Iterable[Template]) -> tuple[tuple[Condition, ...], ...]:
    """The conditions of each template that has any. Raises ``RequestRefused``."""
    given = (where,) if isinstance(where, Mapping) or not isinstance(where, Iterable) else tuple(where)
    if len(given) > TEMPLATES_MAX or not all(isinstance(each, Mapping) for each in given):
        raise RequestRefused('where should be a mapping, such as {"size >=": 3}, or a few of them')
    return tuple(tuple(_condition(key, value) for key, value in each.items()) for each in given if each)


def condition_in(text: str) -> tuple[str, Value]:
    """The key and the value in a template, as written in a line: ``size>=3``. Raises ``RequestRefused``."""
    match = CONDITION.fullmatch(text)
    if match is None or not match["name"] or match["name"].endswith("!") or match["value"][:1] in tuple("<=>"):
        form = "a property, one of <, <=, =, >= and >, and a value, as in 'size>=3'"
        raise RequestRefused(f"{shown(text)} is no condition; write {form}")
    try:
        value = json.loads(match["value"])
    except (ValueError, RecursionError):
        value = match["value"]  # a text without quotes
    return f"{match['operator']}{match['name']}", value


def _condition(key: object, value: object) -> Condition:
    found = KEY.fullmatch(key) if isinstance(key, str) else None
    if found is None or (found["before"] and found["after"]):
        raise RequestRefused(f"{key!r:.80} is no property; write its name, with <, <=, =, >= or > before or after it")
    if not isinstance(value, str | int | float | datetime | None):
        raise RequestRefused(f"{found['name']} is compared with {value!r:.80}; give a text, a number, a date or None")
    return Condition(found["name"], found["before"] or found["after"], value)


def _kind(value: object) -> type:
    """Values of one kind can be compared."""
    return float if isinstance(value, int) and not isinstance(value, bool) else type(value)


def _moment(value: object) -> datetime | None:
    """The date that this is, or that this text is in ISO 8601; in UTC if it has no zone."""
    if isinstance(value, str) and DATE.fullmatch(value):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if not isinstance(value, datetime):
        return None
    return value if value.tzinfo else value.replace(tzinfo=UTC)
