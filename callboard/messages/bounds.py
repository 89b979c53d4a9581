"""Bounds on the contents of any message, including messages from other versions.

Names and ids are copied into headers, keys, messages, ledgers, tables and labels, so they must be short and free of
control characters; otherwise the message is rejected. Prose is only displayed, so it is truncated when too long.
The bounds lie well above those of ``callboard/door/limits.py``, which this version observes when it writes, and above
anything that older versions wrote.
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
"""Length of a name or id: ten times what the door accepts for a name, and still a small part of any record."""

TEXT_CHARS_MAX = 20_000
"""Length of prose: twice the longest reason that the door accepts."""

NAMES_MAX = 10_000
"""Subscribers or publishers named in one message: as many as a board keeps in memory."""

NUMBERS_MAX = 1000
"""Integers in one list: a subscriber announces twenty unfinished packages, and a histogram has fifteen buckets."""

CONTROL = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
"""Banned in names and ids: NUL ends a header, a line feed ends a recipient, and a lone surrogate is not UTF-8."""

PROSE = frozenset({
    "author", "hook_error", "host", "last_error", "message", "place", "problem", "ready_reason", "reason",
    "repository", "source", "stacktrace", "user", "version",
})  # fmt: skip
"""Text fields that are only displayed. Every other text field is a name or an id."""

NAMES = frozenset({"follows", "recipients"})
"""Lists of names, which are only compared, never copied. All other lists of text hold paths, patterns or digests, and
only the record's size limits them."""


def bounded(event: E) -> E:
    """A message that was read, with prose and informational lists truncated to the bounds.

    Raises ``Undecodable`` for an invalid name or id, and for too many names.
    """
    return _rules(type(event)).apply(event, _refuse)


def fitted(event: E) -> E:
    """The message within the bounds, ready to be written: an invalid id is replaced by its digest."""
    return _rules(type(event)).apply(event, lambda _, __, value: digest(value))


def is_id(value: str) -> bool:
    """Whether this is a valid name or id. The empty text is valid, and names nothing."""
    return len(value) <= ID_CHARS_MAX and (value.isprintable() or not CONTROL.search(value))


def digest(value: str) -> str:
    """The substitute for a text that is not a valid id."""
    return f"sha256:{sha256(value.encode(errors='surrogatepass')).hexdigest()}"


def clipped(text: str, most: int = TEXT_CHARS_MAX) -> str:
    """The text, cut to about ``most`` characters with a note of how many were left out."""
    if len(text) <= most:
        return text
    kept = text[: most - CLIP_CHARS]
    return f"{kept}... ({len(text) - len(kept)} more characters)"


CLIP_CHARS = 40
"""Reserved for the note that text was left out."""

_Unfit = Callable[[type[Event], str, str], str]
"""Given class, field and value, returns the replacement for an invalid id, or raises."""


@dataclass(frozen=True, slots=True)
class _Rules:
    """The fields of a class, grouped by the rule that applies to them."""

    ids: tuple[str, ...]
    prose: tuple[str, ...]
    names: tuple[str, ...]
    numbers: tuple[str, ...]
    events: tuple[str, ...]
    read_ids: Callable[[Any], tuple[str, ...]]
    read_prose: Callable[[Any], tuple[str, ...]]

    def apply(self, event: E, unfit: _Unfit) -> E:
        changes: dict[str, Any] = {}
        ids = "".join(self.read_ids(event))
        if not (len(ids) <= ID_CHARS_MAX and ids.isprintable()):  # the usual case: all of them together are short
            found = ((name, getattr(event, name)) for name in self.ids)
            changes |= {name: unfit(type(event), name, value) for name, value in found if not is_id(value)}
        if self.prose and max(map(len, self.read_prose(event))) > TEXT_CHARS_MAX:
            changes |= {name: clipped(getattr(event, name)) for name in self.prose}
        for name in self.names:
            if len(given := getattr(event, name)) > NAMES_MAX:
                raise Undecodable(f"{type(event).__name__}.{name} has {len(given)} names, and the limit is {NAMES_MAX}")
        for name in self.numbers:
            if len(given := getattr(event, name)) > NUMBERS_MAX:
                changes[name] = given[:NUMBERS_MAX]
        for name in self.events:
            if (given := getattr(event, name)) and (kept := _of_events(given, unfit)) is not given:
                changes[name] = kept
        return replaced(event, **changes) if changes else event


def _of_events(given: Any, unfit: _Unfit) -> Any:
    """A nested message, or a tuple of them truncated to ``NAMES_MAX``."""
    if isinstance(given, Event):
        return _rules(type(given)).apply(given, unfit)
    kept, is_changed = [], len(given) > NAMES_MAX
    for each in given[:NAMES_MAX]:
        kept.append(now := _rules(type(each)).apply(each, unfit))
        is_changed = is_changed or now is not each
    return tuple(kept) if is_changed else given


def _refuse(kind: type[Event], name: str, value: str) -> str:
    what = f"has {len(value)} characters, and the limit is {ID_CHARS_MAX}"
    if len(value) <= ID_CHARS_MAX:
        what = f"is {value!r:.80}, and a name or id cannot have control characters"
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
    """A function that reads these fields at once; without fields it returns an empty text."""
    return attrgetter(names[0], *names) if names else lambda _: ("",)
