"""The parameters of a request: what each may be, for the document and for the check, and how its text is read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl

from callboard.door import rules
from callboard.door.limits import CURSOR_CHARS_MAX, NAME_CHARS_MAX, PAGE_MAX, SITES_MAX
from callboard.door.names import meant
from callboard.errors import RequestRefused

FIELDS_MAX = 100
"""Parameters of one request, repetitions included."""

NO_NUL = r"^[^\x00]*$"
ONE_NAME = r"[^/\x00-\x1f\x7f-\x9f]+"
NAME = f"^{ONE_NAME}$"


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter, in the path or behind the question mark.

    ``rule`` checks the value that ``read`` makes of its text. It is passed on under the name ``to``, if it was given,
    or if it has a ``default``. If there may be several, up to ``most``, it is a tuple of all. Without one
    that ``is_needed``, a request is refused; those in a path always are there.
    """

    name: str
    what: str
    schema: Mapping[str, Any]
    rule: rules.Rule
    read: Callable[[str], Any] = str
    to: str = ""
    default: Any = None
    most: int = 1
    is_needed: bool = False

    def value(self, texts: Sequence[str]) -> Any:
        """The value. Raises ``RequestRefused``."""
        if len(texts) > self.most:
            raise RequestRefused(f"{self.name} is given {len(texts)} times; {self.most} is the most")
        found = tuple(map(self._one, texts))
        return found if self.most > 1 else found[0]

    def _one(self, text: str) -> Any:
        return rules.checked(RequestRefused, {self.name: self.rule}, {self.name: self.read(text)})[self.name]

    def several(self, most: int) -> "Parameter":
        """The same, up to this many times."""
        many = {"type": "array", "items": self.schema, "maxItems": most}
        return replace(self, schema=many, most=most, what=f"{self.what} Repeatable.")


def text(name: str, what: str, most: int, *, to: str = "", least: int = 0) -> Parameter:
    """A text, of ``least`` to ``most`` characters."""
    schema = {"type": "string", "minLength": least, "maxLength": most, "pattern": NO_NUL}
    return Parameter(name, what, schema, rules.text(most, least=least), to=to)


def named(name: str, what: str, *, to: str = "") -> Parameter:
    """The name of a publisher or a subscriber."""
    schema = {"type": "string", "minLength": 1, "maxLength": NAME_CHARS_MAX, "pattern": NAME}
    return Parameter(name, what, schema, rules.name, to=to)


def subscriber(name: str, what: str) -> Parameter:
    """The name of a subscriber, or of one behind relays."""
    most = (NAME_CHARS_MAX + 1) * SITES_MAX - 1
    return ruled(name, what, rules.subscriber, most, f"{ONE_NAME}(/{ONE_NAME})*")


def ruled(name: str, what: str, rule: rules.Rule, most: int, pattern: str, *, to: str = "") -> Parameter:
    """A text that follows this rule, and so this pattern."""
    schema = {"type": "string", "minLength": 1, "maxLength": most, "pattern": f"^({pattern})$"}
    return Parameter(name, what, schema, rule, to=to)


def whole(name: str, what: str, least: int, most: int, *, to: str = "", default: int | None = None) -> Parameter:
    """A whole number in a range."""
    schema: dict[str, Any] = {"type": "integer", "minimum": least, "maximum": most}
    schema |= {} if default is None else {"default": default}
    return Parameter(name, what, schema, rules.whole(least, most), _number, to, default)


def choice(name: str, what: str, *words: str, to: str = "") -> Parameter:
    """One of these words."""
    return Parameter(name, what, {"type": "string", "enum": list(words)}, rules.choice(*words), to=to)


def flag(name: str, what: str) -> Parameter:
    """True or false."""
    word = rules.choice("true", "false")
    return Parameter(name, what, {"type": "boolean"}, lambda said: word(said) == "true")


def _number(said: str) -> int | str:
    """The number; a text that is none stays, for the rule to refuse."""
    digits = said.removeprefix("-")
    return int(said) if digits.isascii() and digits.isdigit() and len(digits) <= 20 else said


SUBSCRIBER = subscriber("subscriber", "The subscriber, or SITE/SUBSCRIBER.")
OF_SUBSCRIBER = subscriber("subscriber", "Only of this subscriber, or SITE/SUBSCRIBER.")
OF_PUBLISHER = named("publisher", "Only of this publisher.")
AFTER = text("after", "The `cursor` of the page before.", CURSOR_CHARS_MAX, to="cursor")
LIMIT = whole("limit", "How many at most.", 0, PAGE_MAX, default=100)


def arguments(parameters: Sequence[Parameter], path: Mapping[str, str], query: bytes) -> dict[str, Any]:
    """The arguments that a request gives, checked. Raises ``RequestRefused``."""
    texts = {name: [value] for name, value in path.items()}
    known = [each.name for each in parameters if each.name not in path]
    for name, value in _pairs(query):
        if name not in known:
            otherwise = f"known here: {', '.join(known) or 'none'}"
            raise RequestRefused(f"there is no parameter {rules.shown(name)}; {meant(name, known, otherwise)}")
        texts.setdefault(name, []).append(value)
    found = {}
    for each in parameters:
        if each.is_needed and each.name not in texts:
            raise RequestRefused(f"{each.name} is missing; give it as {each.name}=...")
        value = each.value(texts[each.name]) if each.name in texts else each.default
        if value is not None:
            found[each.to or each.name] = value
    return found


def _pairs(query: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=FIELDS_MAX)
    except ValueError as error:  # also one of Unicode
        raise RequestRefused(f"the query cannot be read: {error}; write NAME=VALUE, in UTF-8, joined by &") from None
