"""The schema of declared events as text, for programs in other languages."""

from collections.abc import Iterator
from typing import Any

from google.protobuf.descriptor_pb2 import FieldDescriptorProto

from callboard.errors import ConfigError
from callboard.messages.declared.registry import declaration_of, place_of
from callboard.messages.event import Event


def proto(*events: type[Event]) -> str:
    """A ``.proto`` file of these declared events and those inside them; add a ``package`` if you want one.

    Raises ``ConfigError`` for a class that is not declared, and for two messages or enums of the same name.
    """
    blocks: dict[str, str] = {}
    titles = []
    for cls in events:
        its = declaration_of(cls)
        if its is None:
            raise ConfigError(f"{getattr(cls, '__name__', cls)!r:.80} is not declared; write @event above its class")
        titles.append(f"// {its.message.DESCRIPTOR.name} is version {its.version} of {its.name}.\n")
        for name, block in _blocks(its.message.DESCRIPTOR):
            if blocks.setdefault(name, block) != block:
                raise ConfigError(f"two messages or enums are called {name}, one in {place_of(cls)}; rename a class")
    return "\n".join(["".join(titles) + 'syntax = "proto2";\n', *blocks.values()])


def _blocks(message: Any) -> Iterator[tuple[str, str]]:
    """The name and text of each enum and message that this one needs, and of itself."""
    lines = []
    for field in message.fields:
        kind = FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()
        if field.message_type is not None:
            kind = field.message_type.name
            yield from _blocks(field.message_type)
        elif field.enum_type is not None:
            kind = field.enum_type.name
            values = "".join(f"  {value.name} = {value.number};\n" for value in field.enum_type.values)
            yield kind, f"enum {kind} {{\n{values}}}\n"
        label, packed = "repeated" if field.is_repeated else "optional", " [packed = true]" * field.is_packed
        lines.append(f"  {label} {kind} {field.name} = {field.number}{packed};\n")
    yield message.name, f"message {message.name} {{\n{''.join(lines)}}}\n"
