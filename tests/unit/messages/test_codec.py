"""The codec, over every event class: what is written is read, and what cannot be read says why."""

from dataclasses import MISSING, fields, replace
from enum import IntEnum
from functools import cache
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callboard.errors import Undecodable
from callboard.messages import codec
from callboard.messages.codec import UNKNOWN_BYTES_MAX, decode, decode_any, encode, encode_any, event_classes
from callboard.messages.distribution.ledger import Ledger, Watermark
from callboard.messages.distribution.topic_messages import (
    ClearCommand,
    CommandMessage,
    DiscoveryMessage,
    Kind,
    PackageMessage,
    PackageStatusMessage,
    Pairs,
    PingMessage,
    State,
    Status,
    SubscriberConfiguration,
)
from callboard.messages.event import Event
from callboard.messages.record import Record, pack_headers

NARROW = {"retries", "max_retries"}
"""The original gave these 32 bits."""

FUTURE = bytes.fromhex("c03e05")
"""Field 1000 with the value 5: no schema has it yet."""

ADD = PackageMessage(publisher_instance="i-1", publisher="site", package_id="p-1", kind=Kind.ADD, paths=("/a",))


@cache
def events(cls: type[Event]) -> st.SearchStrategy[Event]:
    """Events of this class with any values that the types of its fields allow."""
    kinds = get_type_hints(cls)
    values = {field.name: values_of(field.name, kinds[field.name]) for field in fields(cls)}
    return st.builds(cls, **values)


@cache
def values_of(name: str, kind: Any) -> st.SearchStrategy[Any]:
    if name == "unknown":
        return st.sampled_from([b"", FUTURE])
    if kind == Pairs:
        return st.lists(st.tuples(st.text(), st.text()), max_size=3).map(tuple)
    if get_origin(kind) is tuple:
        return st.lists(values_of(name, get_args(kind)[0]), max_size=3).map(tuple)
    if get_origin(kind) is UnionType:
        return st.none() | events(get_args(kind)[0])
    if issubclass(kind, Event):
        return events(kind)
    if issubclass(kind, IntEnum):
        return st.sampled_from(kind)
    bits = 31 if name in NARROW else 63
    whole = st.integers(-(2**bits), 2**bits - 1)
    return {bool: st.booleans(), int: whole, str: st.text(max_size=9), bytes: st.binary(max_size=9)}[kind]


any_event = st.sampled_from(sorted(event_classes().values(), key=lambda cls: cls.__name__)).flatmap(events)


@pytest.mark.parametrize("cls", event_classes().values(), ids=event_classes())
@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_encoding_and_decoding_gives_an_equal_event(cls: type[Event], data: st.DataObject) -> None:
    event = data.draw(events(cls))

    assert decode(cls, encode(event)) == event
    assert decode_any(*encode_any(event)) == event


@pytest.mark.parametrize("cls", event_classes().values(), ids=event_classes())
def test_schema_and_class_have_the_same_fields(cls: type[Event]) -> None:
    schema = codec._plan(cls).message.DESCRIPTOR
    names = [field.name for field in fields(cls) if field.name != "unknown"]

    assert sorted(field.name for field in schema.fields) == sorted(names)
    for field, kind in get_type_hints(cls).items():
        if isinstance(kind, type) and issubclass(kind, IntEnum):
            enum = schema.fields_by_name[field].enum_type
            prefixed = {f"{kind.__name__.upper()}_{member.name}": member.value for member in kind}
            assert {value.name: value.number for value in enum.values} == prefixed


@pytest.mark.parametrize("cls", event_classes().values(), ids=event_classes())
def test_exactly_the_fields_without_a_default_are_required(cls: type[Event]) -> None:
    repeated = {name for name, kind in get_type_hints(cls).items() if get_origin(kind) is tuple}
    without_default = {field.name for field in fields(cls) if field.default is MISSING} - repeated
    needed_by_the_original = {"format"} if cls is PackageMessage else set()

    assert set(codec._plan(cls).demanded) == without_default | needed_by_the_original


@settings(max_examples=300, deadline=None)
@given(cls=st.sampled_from(list(event_classes().values())), data=st.binary(max_size=64))
def test_arbitrary_bytes_are_an_event_or_undecodable(cls: type[Event], data: bytes) -> None:
    try:
        event = decode(cls, data)
    except Undecodable:
        return
    assert decode(cls, encode(event)) == event


@settings(max_examples=300, deadline=None)
@given(event=any_event, data=st.data())
def test_damaged_bytes_are_an_event_or_undecodable(event: Event, data: st.DataObject) -> None:
    damaged = bytearray(encode(event) + FUTURE)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))

    try:
        found = decode(type(event), bytes(damaged))
    except Undecodable:
        return
    assert decode(type(event), encode(found)) == found


def test_truncated_bytes_are_never_decoded_as_the_whole() -> None:
    whole = encode(ADD)

    for length in range(len(whole)):
        try:
            assert decode(PackageMessage, whole[:length]) != ADD
        except Undecodable:
            continue


@pytest.mark.parametrize("name", ["publisher_instance", "package_id", "kind", "format"])
def test_a_package_without_a_required_field_cannot_be_decoded(name: str) -> None:
    message = codec._plan(PackageMessage).message.FromString(encode(ADD))
    message.ClearField(name)

    with pytest.raises(Undecodable, match=rf"^PackageMessage\.{name} is missing$"):
        decode(PackageMessage, message.SerializeToString())


def test_an_unknown_kind_cannot_be_decoded() -> None:
    future = encode(ADD).replace(bytes.fromhex("2000"), bytes.fromhex("2063"))

    with pytest.raises(Undecodable, match=r"^PackageMessage\.kind is 99, which this version does not know"):
        decode(PackageMessage, future)


def test_an_unknown_kind_counts_even_after_a_known_one() -> None:
    with pytest.raises(Undecodable, match=r"PackageMessage\.kind is 99"):
        decode(PackageMessage, encode(ADD) + bytes.fromhex("2063"))


def test_an_unknown_status_cannot_be_decoded_even_inside_another_event() -> None:
    status = PackageStatusMessage(
        subscriber_instance="s-1", subscriber="edge", publisher="site", offset=7, status=Status.IMPORTED
    )
    ledger = encode(Ledger(instance="s-1", outbox=(status,)))

    with pytest.raises(Undecodable, match=r"PackageStatusMessage\.status is 99"):
        decode(Ledger, ledger.replace(bytes.fromhex("2802"), bytes.fromhex("2863")))


def test_an_unknown_state_is_kept_when_its_event_is_encoded_again() -> None:
    announcement = DiscoveryMessage(
        subscriber_instance="s-1",
        subscriber="edge",
        configuration=SubscriberConfiguration(editable=True, max_retries=3),
    )
    future = encode(announcement) + bytes.fromhex("800263")

    event = decode(DiscoveryMessage, future)

    assert event.state is State.STARTING
    assert encode(event) == future


@pytest.mark.proves("W1")
def test_unknown_fields_are_kept() -> None:
    group = bytes.fromhex("c33e0805c43e")
    fixed = bytes.fromhex("c93e0102030405060708cd3e01020304")
    future = encode(ADD) + FUTURE + group + fixed + bytes.fromhex("ca3e026869")

    event = decode(PackageMessage, future)

    assert event.package_id == "p-1"
    assert encode(event) == future


def test_unknown_fields_are_kept_inside_another_event() -> None:
    clear = decode(ClearCommand, encode(ClearCommand(offset=7)) + FUTURE)
    command = CommandMessage(subscriber_instance="s-1", subscriber="edge", clear=clear)

    again = decode(CommandMessage, encode(command))

    assert again == command
    assert again.clear is not None
    assert again.clear.unknown == FUTURE


@pytest.mark.parametrize("content", [b"", b"x" * UNKNOWN_BYTES_MAX])
def test_too_many_unknown_fields_are_refused_unread(content: bytes) -> None:
    told = encode(replace(ADD, content=content))
    most = UNKNOWN_BYTES_MAX // len(FUTURE)
    assert decode(PackageMessage, told + FUTURE * most).unknown == FUTURE * most
    with pytest.raises(Undecodable, match=r"bytes of unknown fields.*; upgrade"):
        decode(PackageMessage, told + FUTURE * (most + 1))


def test_events_with_different_unknown_fields_are_not_equal() -> None:
    assert decode(PingMessage, FUTURE) != PingMessage()


def test_an_absent_event_stays_absent_and_an_empty_text_stays_empty() -> None:
    command = CommandMessage(subscriber_instance="", subscriber="")

    assert decode(CommandMessage, encode(command)) == command


def test_default_values_take_no_bytes() -> None:
    assert encode(Ledger(instance="i")) == bytes.fromhex("0a0169")


@pytest.mark.parametrize("field", ["0a01ff", "3a01ff", "8202050a01ff1200", "8202050a001201ff"])
def test_text_that_is_not_utf_8_cannot_be_decoded(field: str) -> None:
    with pytest.raises(Undecodable, match="are not a PackageMessage: it has text that is not UTF-8"):
        decode(PackageMessage, encode(ADD) + bytes.fromhex(field))


def test_an_unknown_message_name_cannot_be_decoded() -> None:
    with pytest.raises(Undecodable, match="'Nothing'"):
        decode_any("Nothing", b"")


def test_values_outside_the_schema_are_refused_on_writing() -> None:
    with pytest.raises(ValueError, match="surrogates"):
        encode(Record(offset=0, time_ns=0, payload=b"", header_block=pack_headers((("name", "\ud800"),))))
    with pytest.raises(ValueError, match="range"):
        encode(Watermark(publisher="site", offset=2**63))
