"""Encodes events to bytes and decodes them; the only module that uses the generated Protocol Buffers code.

There is no code per class. A plan is compiled once per class from the dataclass's fields and the schema's message of
the same name, or the message of a declared event (see ``declared/``):

* A field is *demanded* when absence cannot mean its default: the class has no default, or the schema declares
  a different one. Such a field is always written, and bytes without it cannot be decoded.
* Any other field is written only when it differs from its default.
* A declared event's field with a default that is not the schema's is written always, but may be absent.
* Unknown fields and unknown enum numbers are kept in ``Event.unknown`` and written back, also inside nested
  events. An unknown number in a demanded enum cannot be decoded.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, dataclass, fields
from enum import IntEnum
from functools import cache, cached_property, partial
from importlib import import_module
from operator import attrgetter
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from google.protobuf.message import DecodeError, Message
from google.protobuf.unknown_fields import UnknownFieldSet

from callboard.errors import Undecodable
from callboard.messages.declared.registry import declaration_of, mail_name, mailed
from callboard.messages.distribution.topic_messages import Pairs
from callboard.messages.event import Event
from callboard.messages.generated import GENERATED
from callboard.messages.texts import read_pairs, read_texts

E = TypeVar("E", bound=Event)

_ALWAYS = object()
"""Stands for the default of a demanded field: no value equals it, so the field is always written."""

UNKNOWN_BYTES_MAX = 1 << 17
"""Bytes of unknown fields in one message: far more than a newer minor version needs. Each field takes two bytes or more
and costs every reader a microsecond."""

_PACKAGE = "callboard.messages"


@cache
def event_classes() -> Mapping[str, type[Event]]:
    """Every event class by its name."""
    return {
        name: cls
        for module in map(import_module, (f"{_PACKAGE}.{each}" for each in GENERATED))
        for name, cls in vars(module).items()
        if isinstance(cls, type) and issubclass(cls, Event) and cls.__module__ == module.__name__
    }


def _generated(cls: type[Event]) -> Any:
    """The class of the schema's message."""
    if declared := declaration_of(cls):
        return declared.message
    schema = GENERATED.get(cls.__module__.removeprefix(f"{_PACKAGE}."))
    if schema is None:
        raise TypeError(f"{cls.__name__} is not declared; write @event('some.name', version=1) above its class")
    return getattr(import_module(f"{_PACKAGE}._pb.{schema}"), cls.__name__)


def encode(event: Event) -> bytes:
    """The event's bytes.

    Raises ``ValueError`` or ``TypeError`` when a field holds what its schema cannot: another type, an
    integer out of range, text with lone surrogates.
    """
    return _to_message(event).SerializeToString()


def _to_message(event: Event) -> Message:
    return _plan(type(event)).to_message(event)


def decode(cls: type[E], data: bytes) -> E:
    """Decode an event of this class.

    Raises ``Undecodable``, and nothing else, for bytes that are not such an event: damaged, without a demanded
    field, with an unknown number in a demanded enum, or with more than ``UNKNOWN_BYTES_MAX`` of unknown fields.
    """
    plan = _plan(cls)
    try:
        event: E = plan.to_event(_light(cls, plan.message.FromString(data), len(data)))
    except (DecodeError, ValueError) as error:
        why = "" if isinstance(error, DecodeError) else f": {error}"  # protobuf's words change with its version
        raise Undecodable(f"{len(data)} bytes are not a {cls.__name__}{why}") from error
    except KeyError as error:  # an enum of proto3 gives unknown numbers, too
        raise Undecodable(
            f"a {cls.__name__} has the unknown number {error} in an enum; upgrade this process"
        ) from error
    return event


def peek(cls: type[E], data: bytes) -> E | None:
    """The bare message of an event, which has the same fields, but is none; None if it cannot be decoded. For those who
    read very many and keep none: its texts are not checked, and may be bytes.
    """
    plan = _plan(cls)
    try:
        message = plan.message.FromString(data)
    except (DecodeError, ValueError):
        return None
    return message if all(map(message.HasField, plan.demanded)) else None  # type: ignore[return-value]  # as it says


def has_unknown(message: Event) -> bool:
    """Whether a message from ``peek`` has fields, or values, that this version does not know."""
    return len(UnknownFieldSet(message)) > 0  # type: ignore[arg-type]  # it is the bare message


def _light(cls: type[Event], message: Message, nbytes: int) -> Message:
    """Return the message. Raises ``Undecodable`` if too much of it is unknown."""
    if nbytes > UNKNOWN_BYTES_MAX:  # a smaller message needs no check
        known = type(message)()
        known.CopyFrom(message)
        known.DiscardUnknownFields()
        if (unknown := message.ByteSize() - known.ByteSize()) > UNKNOWN_BYTES_MAX:
            what = f"{unknown} bytes of unknown fields, and the limit is {UNKNOWN_BYTES_MAX}"
            raise Undecodable(f"{nbytes} bytes are not a {cls.__name__}: they have {what}; upgrade this process")
    return message


def encode_any(event: Event) -> tuple[str, bytes]:
    """The name of the event's class, and its bytes."""
    return mail_name(type(event)), encode(event)


def decode_any(name: str, data: bytes) -> Event:
    """Decode an event of the class with this name; raises ``Undecodable`` also for an unknown name."""
    if cls := mailed(name):
        return decode(cls, data)
    if name not in event_classes():
        raise Undecodable(f"this version knows no message {name!r}; upgrade, or find out who writes it")
    return decode(event_classes()[name], data)


def descriptor_of(cls: type[Event]) -> Any:
    """The schema's descriptor of this class's message."""
    return _generated(cls).DESCRIPTOR


@dataclass(frozen=True)
class _Plan:
    """How the events of one class become messages and back."""

    cls: type[Event]
    message: type[Message]
    writers: tuple[tuple[str, Any, Callable[[Any], Any] | None], ...]
    """Field, the value that is not written, and the conversion to the message's value (None: as it is)."""
    readers: Mapping[str, Callable[[Message], Any] | None]
    """Reads the value of each field except ``unknown`` from the message (None: it is an attribute), in field order."""
    demanded: tuple[str, ...]
    """Demanded fields, except repeated ones, which are empty when absent."""
    texts: Collection[str]
    """The text fields of an event; lists of text are not among them."""

    @cached_property
    def to_event(self) -> Callable[[Message], Any]:
        """The event of a message: a function that is written for the class, as a loop over the fields takes twice as
        long. Raises ``Undecodable``, ``ValueError`` and ``KeyError``; see ``decode``.
        """
        names: dict[str, Any] = {"new": object.__new__, "kind": self.cls, "found_in": UnknownFieldSet, "plan": self}
        absent = "    if not message.HasField({0!r}): raise plan.undecodable({0!r}, message)"
        lines = ["def to_event(message):", *map(absent.format, self.demanded), "    event = new(kind)"]
        for name, read in self.readers.items():
            names[f"set_{name}"], names[f"read_{name}"] = getattr(self.cls, name).__set__, read
            lines.append(f"    value = {f'message.{name}' if read is None else f'read_{name}(message)'}")
            if name in self.texts:
                lines.append("    if type(value) is bytes: raise UnicodeError('it has text that is not UTF-8')")
            lines.append(f"    set_{name}(event, value)")  # values are immutable, unlike the message
        names["set_unknown"] = vars(Event)["unknown"].__set__
        lines.append("    found = found_in(message)")
        lines.append("    set_unknown(event, plan.unknown(message, found) if len(found) else b'')")
        lines.append("    return event")
        exec("\n".join(lines), names)  # noqa: S102 - of the names of fields
        function: Callable[[Message], Any] = names["to_event"]
        return function

    @property
    def writer(self) -> Callable[[Any], Message]:
        """``to_message``; of a declared class one that Protocol Buffers refuses for an event of another class."""
        return _to_message if declaration_of(self.cls) else self.to_message

    def to_message(self, event: Event) -> Message:
        values = {}
        for name, default, write in self.writers:
            value = getattr(event, name)
            if value != default:
                values[name] = value if write is None else write(value)
        message = self.message(**values)
        if event.unknown:
            message.MergeFromString(event.unknown)
        return message

    def unknown(self, message: Message, found: UnknownFieldSet) -> bytes:
        """The encoded fields of the message that this version does not know."""
        unknown = {found[i].field_number for i in range(len(found))}
        for name in self.demanded:
            if self.message.DESCRIPTOR.fields_by_name[name].number in unknown:
                raise self.undecodable(name, message)
        for field, _ in message.ListFields():
            message.ClearField(field.name)
        return message.SerializeToString()

    def undecodable(self, name: str, message: Message) -> Undecodable:
        """The error for a demanded field that is missing, or has an unknown value."""
        number = self.message.DESCRIPTOR.fields_by_name[name].number
        found = UnknownFieldSet(message)
        values = [found[i].data for i in range(len(found)) if found[i].field_number == number]
        if not values:
            return Undecodable(f"{self.cls.__name__}.{name} is missing")
        what = f"{values[-1]!r:.80}, which this version does not know; upgrade this process"
        return Undecodable(f"{self.cls.__name__}.{name} is {what}")


_PLANS: dict[type[Event], _Plan] = {}


def _plan(cls: type[Event]) -> _Plan:
    return _PLANS.get(cls) or _PLANS.setdefault(cls, _compile(cls))


def _compile(cls: type[Event]) -> _Plan:
    message = _generated(cls)
    kinds = get_type_hints(cls)
    declared = declaration_of(cls) is not None
    writers: list[Any] = []
    demanded: list[str] = []
    readers: dict[str, Callable[[Message], Any] | None] = {}
    for field in fields(cls):
        if field.name == "unknown":
            continue
        write, read = _conversion(field.name, kinds[field.name])
        schema = message.DESCRIPTOR.fields_by_name[field.name]
        default = field.default
        if get_origin(kinds[field.name]) is tuple:
            default = ()
        elif default is MISSING or (default is not None and default != schema.default_value):
            if declared and default is not MISSING:
                read = partial(_read_or, field.name, read, default) if schema.has_presence else read
            elif schema.has_presence:  # some fields of proto3 have none: they are 0 when absent
                demanded.append(field.name)
            default = _ALWAYS
        writers.append((field.name, default, write))
        readers[field.name] = read
    texts = {name for name, _, _ in writers if kinds[name] is str}
    return _Plan(cls, message, tuple(writers), readers, tuple(demanded), texts)


def _read_or(name: str, read: Callable[[Message], Any] | None, default: Any, message: Message) -> Any:
    if not message.HasField(name):
        return default
    return getattr(message, name) if read is None else read(message)


_Conversion = tuple[Callable[[Any], Any] | None, Callable[[Message], Any] | None]
"""Converts a field's value to the message's, and reads it from the message (None: as it is)."""


def _conversion(name: str, kind: Any) -> _Conversion:
    get = attrgetter(name)
    if get_origin(kind) is tuple:
        return _tuple_conversion(get, kind)
    if get_origin(kind) is UnionType:  # an event or None
        plan = _plan(get_args(kind)[0])
        return plan.writer, lambda m: plan.to_event(get(m)) if m.HasField(name) else None
    if issubclass(kind, Event):
        plan = _plan(kind)
        return plan.writer, lambda message: plan.to_event(get(message))
    if issubclass(kind, IntEnum):
        members = {member.value: member for member in kind}
        return None, lambda message: members[get(message)]
    return None, None


def _tuple_conversion(get: Callable[[Message], Any], kind: Any) -> _Conversion:
    item = get_args(kind)[0]
    if kind == Pairs:
        return lambda pairs: [{"name": name, "value": value} for name, value in pairs], partial(read_pairs, get)
    if issubclass(item, Event):
        plan, write = _plan(item), _plan(item).writer
        return (
            lambda events: [write(event) for event in events],
            lambda message: tuple([plan.to_event(each) for each in get(message)]),
        )
    if issubclass(item, IntEnum):
        members = {member.value: member for member in item}
        return None, lambda message: tuple([members[number] for number in get(message)])
    if item is not str:  # whose items need no check
        return None, lambda message: tuple(get(message))
    return None, partial(read_texts, get)
