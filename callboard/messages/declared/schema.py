"""The Protocol Buffers message of a declared class, made of its annotations.

``int`` is an ``int64``, ``float`` a ``double``; an ``IntEnum`` is an enum, and a declared event a message. Fields are
numbered in the order of their declaration, from 1, so a new one goes to the end.
"""

from collections.abc import Mapping
from enum import IntEnum
from itertools import count
from types import NoneType, UnionType
from typing import Any, NamedTuple, get_args, get_origin

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from callboard.errors import ConfigError
from callboard.messages.declared.registry import Declaration, declaration_of, place_of
from callboard.messages.event import Event

SUPPORTED = (
    "int, str, bytes, bool, float, an IntEnum, a declared event, such an event or None, or 'tuple[X, ...]' of these"
)

_TYPES: dict[type, Any] = {
    int: FieldDescriptorProto.TYPE_INT64,
    str: FieldDescriptorProto.TYPE_STRING,
    bytes: FieldDescriptorProto.TYPE_BYTES,
    bool: FieldDescriptorProto.TYPE_BOOL,
    float: FieldDescriptorProto.TYPE_DOUBLE,
}

_LENGTHS = {FieldDescriptorProto.TYPE_STRING, FieldDescriptorProto.TYPE_BYTES, FieldDescriptorProto.TYPE_MESSAGE}
"""Each is written with its length, so that a list of them cannot be packed."""

_INTEGERS: set[int] = {
    FieldDescriptorProto.Type.Value(f"TYPE_{name}")
    for name in ("INT32", "INT64", "UINT32", "UINT64", "SINT32", "SINT64", "FIXED32", "FIXED64", "SFIXED32", "SFIXED64")
}
"""What an ``int`` may be in a schema of the caller's own."""

_POOL = DescriptorPool()
"""Apart from the default one, in which a service may have generated messages of the same names."""

_NUMBERS = count()
"""A module that is imported again declares its messages again."""


class Shape(NamedTuple):
    """What an annotation means: one or many of an item."""

    item: type
    many: bool
    optional: bool = False


def shape_of(kind: Any) -> Shape | None:
    """The shape of an annotation; None if it is not supported."""
    match get_origin(kind), get_args(kind):
        case origin, (item, end) if origin is tuple and end is Ellipsis:
            shape = Shape(item, many=True)
        case origin, (item, other) if origin is UnionType and other is NoneType and declaration_of(item):
            shape = Shape(item, many=False, optional=True)
        case _:
            shape = Shape(kind, many=False)
    item = shape.item
    is_enum = isinstance(item, type) and issubclass(item, IntEnum) and len(item) > 0
    return shape if item in _TYPES or is_enum or declaration_of(item) else None


def made_message(cls: type[Event], name: str, version: int, shapes: Mapping[str, Shape]) -> type[Message]:
    """The message of a class with fields of these shapes. Raises ``ConfigError`` when Protocol Buffers refuses it."""
    package = f"declared.{name}.v{version}.n{next(_NUMBERS)}"
    file = FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto2")
    message = file.message_type.add(name=cls.__name__)
    try:
        for number, (field, shape) in enumerate(shapes.items(), 1):
            _add(message, field, number, shape, f".{package}.{cls.__name__}")
            if nested := declaration_of(shape.item):
                _depend(file, nested, f"{place_of(cls)}.{field}")
        _POOL.AddSerializedFile(file.SerializeToString())
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{place_of(cls)} cannot be a message: {error}; correct its fields") from error
    made: type[Message] = GetMessageClass(_POOL.FindMessageTypeByName(f"{package}.{cls.__name__}"))
    return made


def _depend(file: FileDescriptorProto, nested: Declaration, where: str) -> None:
    other = nested.message.DESCRIPTOR.file
    if other.pool is not _POOL:
        raise ConfigError(f"{where} holds {nested}, which has a generated message; give both a message=, or none")
    if other.name not in file.dependency:
        file.dependency.append(other.name)


def _add(message: DescriptorProto, name: str, number: int, shape: Shape, scope: str) -> None:
    label = FieldDescriptorProto.LABEL_REPEATED if shape.many else FieldDescriptorProto.LABEL_OPTIONAL
    field = message.field.add(name=name, number=number, label=label)
    item = shape.item
    if nested := declaration_of(item):
        field.type = FieldDescriptorProto.TYPE_MESSAGE
        field.type_name = f".{nested.message.DESCRIPTOR.full_name}"
    elif issubclass(item, IntEnum):
        field.type = FieldDescriptorProto.TYPE_ENUM
        field.type_name = f"{scope}.{item.__name__}"
        if item.__name__ not in {each.name for each in message.enum_type}:
            enum = message.enum_type.add(name=item.__name__)
            for member in item:  # the values of all enums of a message share a scope
                enum.value.add(name=f"{item.__name__.upper()}_{member.name}", number=member.value)
    else:
        field.type = _TYPES[item]
    if shape.many and field.type not in _LENGTHS:
        field.options.packed = True


def check_message(cls: type[Event], message: type[Message], shapes: Mapping[str, Shape]) -> None:
    """Raises ``ConfigError`` unless a generated message has exactly these fields."""
    theirs = message.DESCRIPTOR.fields_by_name
    if differ := sorted(set(theirs) ^ set(shapes)):
        what = f"{place_of(cls)} and its message differ in the fields {', '.join(differ)}"
        raise ConfigError(f"{what}; declare each of them in both")
    for name, shape in shapes.items():
        if not _fits(theirs[name], shape):
            kind = f"{'tuple of ' * shape.many}{shape.item.__name__}"
            raise ConfigError(f"{place_of(cls)}.{name} is a {kind}, but not in its message; make them equal")


def _fits(field: Any, shape: Shape) -> bool:
    if field.is_repeated != shape.many or field.is_required:
        return False
    if field.containing_oneof and len(field.containing_oneof.fields) > 1:  # an ``optional`` of proto3 is a oneof of one
        return False
    if nested := declaration_of(shape.item):
        return field.message_type is nested.message.DESCRIPTOR
    if issubclass(shape.item, IntEnum):
        return field.enum_type is not None and {*field.enum_type.values_by_number} == {*map(int, shape.item)}
    return field.type in (_INTEGERS if shape.item is int else {_TYPES[shape.item]})
