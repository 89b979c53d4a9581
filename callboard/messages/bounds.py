"""What a message may hold, whoever wrote it.

Names and ids are copied: into headers and keys, into what is told of them, into ledgers, tables and labels. So they are
short and have no control characters, or the message is none. Prose is only shown; what is too long of it is left out.
The bounds lie well above those of ``callboard/door/limits.py``, by which this version writes, and above all that older
ones ever wrote.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from hashlib import sha256
from operator import attrgetter
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from callboard.errors import Undecodable
from callboard.messages.event import Event, replaced

E = TypeVar("E", bound=Event)

ID_CHARS_MAX = 1000
"""Of a name or an id: ten times what the door lets in as a name, and still a small part of any record."""

TEXT_CHARS_MAX = 20_000
"""Of prose: two of the longest reasons that the door lets in."""

NAMES_MAX = 10_000
"""Subscribers or publishers that one message names: as many as a board keeps in mind."""

NUMBERS_MAX = 1000
"""Whole numbers in a row: a subscriber announces twenty unfinished packages, and a histogram has fifteen buckets."""

CONTROL = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
"""What no name or id has: a NUL ends a header, a line feed a recipient, and half a surrogate pair is no UTF-8."""

PROSE = frozenset({
    "author", "hook_error", "host", "last_error", "message", "place", "ready_reason", "reason", "repository", "source",
    "stacktrace", "user", "version",
})  # fmt: skip
"""The fields of text that are shown to people, and for nothing else. Every other one is a name or an id."""

NAMES = frozenset({"follows", "recipients"})
"""The lists of names: they are compared, and copied nowhere. All other lists of text are of paths, patterns and
digests, as long as the record allows."""


def bounded(event: E) -> E:
    """The message as it was read, but for what is left out of prose and of lists that only inform.

    Raises ``Undecodable`` for a name or an id that is none, and for more names than there can be.
    """
    return _rules(type(event)).apply(event, _refuse)


def fitted(event: E) -> E:
    """The message as it can be written and read: an id that is none is told by its digest."""
    return _rules(type(event)).apply(event, lambda _, __, value: digest(value))


def is_id(value: str) -> bool:
    """Whether this can be a name or an id. An empty one names nothing, and is one."""
    return len(value) <= ID_CHARS_MAX and (value.isprintable() or not CONTROL.search(value))


def digest(value: str) -> str:
    """What stands for a text that is no id."""
    return f"sha256:{sha256(value.encode(errors='surrogatepass')).hexdigest()}"


def clipped(text: str, most: int = TEXT_CHARS_MAX) -> str:
    """The text, or its beginning and how much is left out, in about so many characters."""
    if len(text) <= most:
        return text
    kept = text[: most - CLIP_CHARS]
    return f"{kept}... ({len(text) - len(kept)} more characters)"


CLIP_CHARS = 40
"""For the note that something is left out."""

_Unfit = Callable[[type[Event], str, str], str]
"""What becomes of an id that is none, by class and field."""


@dataclass(frozen=True, slots=True)
class _Rules:
    """The fields of a class by what holds for them."""

    ids: tuple[str, ...]
    prose: tuple[str, ...]
    names: tuple[str, ...]
    numbers: tuple[str, ...]
    events: tuple[str, ...]
    read_ids: Callable[[Any], tuple[str, ...]]
    read_prose: Callable[[Any], tuple[str, ...]]

    def apply(self, event: E, unfit: _Unfit) -> E:
        changes: dict[str, Any] = {}
        ids = self.read_ids(event)
        if not (max(map(len, ids)) <= ID_CHARS_MAX and "".join(ids).isprintable()):
            found = ((name, getattr(event, name)) for name in self.ids)
            changes |= {name: unfit(type(event), name, value) for name, value in found if not is_id(value)}
        if max(map(len, self.read_prose(event))) > TEXT_CHARS_MAX:
            changes |= {name: clipped(getattr(event, name)) for name in self.prose}
        for name in self.names:
            if len(given := getattr(event, name)) > NAMES_MAX:
                raise Undecodable(f"{type(event).__name__}.{name} has {len(given)} names, and the most is {NAMES_MAX}")
        for name in self.numbers:
            if len(given := getattr(event, name)) > NUMBERS_MAX:
                changes[name] = given[:NUMBERS_MAX]
        for name in self.events:
            if (given := getattr(event, name)) and (kept := _of_events(given, unfit)) is not given:
                changes[name] = kept
        return replaced(event, **changes) if changes else event


def _of_events(given: Any, unfit: _Unfit) -> Any:
    """A message in a message, or several of them, of which the first inform and the others are too many."""
    if isinstance(given, Event):
        return _rules(type(given)).apply(given, unfit)
    kept = tuple(_rules(type(each)).apply(each, unfit) for each in given[:NAMES_MAX])
    same = len(kept) == len(given) and all(map(lambda one, other: one is other, kept, given))
    return given if same else kept


def _refuse(kind: type[Event], name: str, value: str) -> str:
    what = f"has {len(value)} characters, and the most is {ID_CHARS_MAX}"
    if len(value) <= ID_CHARS_MAX:
        what = f"is {value!r:.80}, and no name or id has control characters"
    raise Undecodable(f"{kind.__name__}.{name} {what}")


_RULES: dict[type[Event], _Rules] = {}


def _rules(kind: type[Event]) -> _Rules:
    return _RULES.get(kind) or _RULES.setdefault(kind, _compiled(kind))


def _compiled(kind: type[Event]) -> _Rules:
    kinds = {field.name: get_type_hints(kind)[field.name] for field in fields(kind) if field.name != "unknown"}
    texts = [name for name, its in kinds.items() if its is str]
    ids, prose = [name for name in texts if name not in PROSE], [name for name in texts if name in PROSE]
    return _Rules(
        ids=tuple(ids),
        prose=tuple(prose),
        names=tuple(name for name in kinds if name in NAMES),
        numbers=tuple(name for name, its in kinds.items() if its == tuple[int, ...]),
        events=tuple(name for name, its in kinds.items() if _holds_events(its)),
        read_ids=_reader(ids),
        read_prose=_reader(prose),
    )


def _holds_events(kind: Any) -> bool:
    inner = get_args(kind)[0] if get_origin(kind) in {tuple, UnionType} else kind
    return isinstance(inner, type) and issubclass(inner, Event)


def _reader(names: list[str]) -> Callable[[Any], tuple[str, ...]]:
    """Reads these fields at once; of none it makes an empty text."""
    return attrgetter(names[0], *names) if names else lambda _: ("",)
