"""``@event``: makes a class an event, and everything that can be wrong with one is found here."""

import re
from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, dataclass, field, fields
from inspect import signature
from types import UnionType
from typing import Any, TypeVar, dataclass_transform, get_args, get_type_hints

from google.protobuf.message import Message

from callboard.errors import ConfigError
from callboard.messages.declared.registry import Declaration, place_of, register
from callboard.messages.declared.schema import SUPPORTED, Shape, check_message, made_message, shape_of
from callboard.messages.event import Event
from callboard.messages.question import Question

E = TypeVar("E", bound=Event)

NAME = re.compile(r"(?=.{3,100}\Z)[a-z][a-z0-9]*(?:_[a-z0-9]+)*(?:\.[a-z][a-z0-9]*(?:_[a-z0-9]+)*)+")
"""Lower case with a dot, so that it is never the name of a message of callboard, and a package of Protocol Buffers."""

FIELD = re.compile(r"[a-z][a-z0-9_]{0,99}")

RESERVED = "callboard."

VERSION_MAX = 10**9 - 1
"""The header has nine digits for it."""

_MAKERS = {"__init__", "__new__", "__post_init__"}
"""They would run for a new event, but not for one that is read."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def event(name: str, *, version: int, message: type[Message] | None = None) -> Callable[[type[E]], type[E]]:
    """Declare an event of a service: ``@event("bank.deposited", version=1)`` above ``class Deposited(Event)``.

    The class becomes a frozen dataclass with slots whose arguments have names. Its fields can be int (64 bits), str,
    bytes, bool, float, an ``IntEnum``, another declared event, ``X | None`` of one, and ``tuple[X, ...]`` of these.
    They are Protocol Buffers fields, numbered in their order from 1: append new ones, with a default, and never reorder
    or remove one. For any other change declare a new version, and give the old class a method ``upcast`` that returns
    the event that it is today, or that of a version in between.

    Args:
        name: The type in the record's headers: at most 100 of a-z, 0-9, '_' and '.', with a dot, as 'bank.deposited'.
        version: From 1; the major version in the record's headers.
        message: A generated class of Protocol Buffers with the same fields, instead of one made of the annotations.

    Raises:
        ConfigError: The name, the version or a field cannot be used, or the name and version are declared elsewhere.
    """
    if not (isinstance(name, str) and NAME.fullmatch(name)):
        grammar = "3 to 100 of a-z, 0-9, '_' and '.', with a dot, such as 'bank.deposited'"
        raise ConfigError(f"{name!r:.120} cannot be the name of an event; use {grammar}")
    if name.startswith(RESERVED):
        raise ConfigError(f"the name {name!r} begins like those of callboard; choose another first word")
    if type(version) is not int or not 1 <= version <= VERSION_MAX:
        raise ConfigError(f"the version of {name!r} is {version!r:.50}; count versions from 1, in whole numbers")
    if message is not None and not (isinstance(message, type) and issubclass(message, Message)):
        raise ConfigError(f"the message of {name!r} is {message!r:.80}; give a class that Protocol Buffers generated")
    return declared(name, version=version, message=message)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def declared(name: str, *, version: int, message: type[Message] | None = None) -> Callable[[type[E]], type[E]]:
    """As ``event``, also for the names of callboard's own."""

    def declare(cls: type[E]) -> type[E]:
        made = _dataclass(cls)
        shapes = _shapes(made)
        if message is not None:
            check_message(made, message, shapes)
        its = message or made_message(made, name, version, shapes)
        _check_defaults(made, its)
        register(Declaration(made, name, version, its))
        return made

    return declare


def _dataclass(cls: type[E]) -> type[E]:
    """The class as a dataclass with slots, which is another class."""
    if not (isinstance(cls, type) and issubclass(cls, Event)):
        raise ConfigError(f"{getattr(cls, '__name__', cls)!r:.80} is no Event; write it as: class Deposited(Event)")
    where = place_of(cls)
    if "__dataclass_fields__" in vars(cls):
        raise ConfigError(f"{where} is a dataclass already; remove @dataclass, since @event makes it one")
    for base in cls.__mro__[1:-1]:
        if "__slots__" not in vars(base) or (issubclass(base, Event) and len(fields(base)) > 1):
            what = f"{where} inherits from {base.__name__}, which has attributes of its own"
            raise ConfigError(f"{what}; inherit from Event or Question[...], and declare every field in the class")
    if own := sorted(_MAKERS & vars(cls).keys()):
        what = f"{where} defines {own[0]}, which does not run when an event is read"
        raise ConfigError(f"{what}; check input before you make an event of it")
    if "upcast" in vars(cls) and len(signature(cls.upcast).parameters) != 1:  # type: ignore[attr-defined]  # it has one
        raise ConfigError(f"{where}.upcast takes more than self; write it as: def upcast(self) -> Event")
    if issubclass(cls, Question):
        _check_answer(cls)
    try:
        made = dataclass(frozen=True, slots=True, kw_only=True)(cls)
    except (TypeError, ValueError) as error:  # such as a mutable default
        what = f"{where} cannot be a frozen dataclass: {str(error).removesuffix(': use default_factory')}"
        raise ConfigError(f"{what}; use plain defaults, such as () for a tuple[int, ...]") from error
    _point_super_at(made, cls)
    return made


def _check_answer(cls: type[Event]) -> None:
    """Raises ``ConfigError`` unless ``answer_to`` can tell from the class which events answer it."""
    bases = vars(cls).get("__orig_bases__", ())
    answers: Iterable[Any] = get_args(bases[0]) if bases else ()
    kinds = [kind for each in answers for kind in (get_args(each) if isinstance(each, UnionType) else (each,))]
    if not kinds or not all(isinstance(kind, type) and issubclass(kind, Event) for kind in kinds):
        what = f"{place_of(cls)} does not say which event answers it"
        raise ConfigError(f"{what}; write it as: class {cls.__name__}(Question[Balance]), with Balance above it")


def _point_super_at(made: type, cls: type) -> None:
    """``super()`` in its methods refers to the class before it had slots: the methods share a cell that holds it."""
    for member in vars(made).values():
        function = getattr(member, "__func__", None) or getattr(member, "fget", None) or member
        for cell in getattr(function, "__closure__", None) or ():
            if cell.cell_contents is cls:
                cell.cell_contents = made


def _shapes(cls: type[Event]) -> dict[str, Shape]:
    """The shape of every field. Raises ``ConfigError`` for one that cannot be written or read."""
    try:
        kinds = get_type_hints(cls)
    except Exception as error:  # an annotation can be any expression
        what = f"the fields of {place_of(cls)} cannot be known: {error}"
        raise ConfigError(f"{what}; declare what they hold above it, at the top of a module") from error
    shapes = {}
    for each in fields(cls):
        where, kind = f"{place_of(cls)}.{each.name}", kinds[each.name]
        if each.name == "unknown":
            continue
        if not FIELD.fullmatch(each.name):
            raise ConfigError(f"{where} cannot be the name of a field; use a-z, 0-9 and '_', beginning with a letter")
        if (shape := shape_of(kind)) is None:
            raise ConfigError(f"{where} is a {kind!r:.80}, which an event cannot hold; use {SUPPORTED}")
        _check_field(where, each, shape)
        shapes[each.name] = shape
    if "unknown" in vars(cls).get("__annotations__", {}):
        raise ConfigError(f"{place_of(cls)}.unknown is a field of every event; give yours another name")
    return shapes


def _check_field(where: str, each: Field[Any], shape: Shape) -> None:
    if each.default_factory is not MISSING or not each.init:
        raise ConfigError(f"{where} uses field() with default_factory or init; give it a plain default, or none")
    if shape.many and each.default not in (MISSING, ()):
        raise ConfigError(f"{where} has the default {each.default!r:.80}; a tuple has the default (), or none")
    if each.default is None and not shape.optional:
        raise ConfigError(f"{where} has the default None, which it cannot hold; use an empty value, or no default")
    if shape.optional and each.default is not None:
        raise ConfigError(f"{where} can be None, but that is not its default; write ' | None = None'")
    if isinstance(each.default, Event):
        raise ConfigError(f"{where} has an event as its default; remove it, or write ' | None = None'")


def _check_defaults(cls: type[Event], message: type[Message]) -> None:
    """Raises ``ConfigError`` for a default that its field cannot hold."""
    for each in fields(cls):
        if each.name != "unknown" and each.default not in (MISSING, None, ()):
            try:
                message(**{each.name: each.default})
            except (TypeError, ValueError) as error:
                where = f"{place_of(cls)}.{each.name} has the default {each.default!r:.80}"
                raise ConfigError(f"{where}, which it cannot hold: {error}; correct it") from error
