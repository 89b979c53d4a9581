"""Events that a service declares: what is written is read, by newer versions too, and what cannot be read says why."""

import copy
import pickle
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callboard.actors import Event, event, proto
from callboard.actors.runtime.mail import Mail
from callboard.errors import ConfigError, Undecodable
from callboard.messages.codec import UNKNOWN_BYTES_MAX, decode, decode_any, encode, encode_any
from callboard.messages.question import answer_to
from tests.unit.messages.declared.bank import (
    Balance,
    BalanceQuery,
    Booked,
    Deposited,
    DepositedV1,
    DepositedV2,
    Money,
    Side,
)

FUTURE = bytes.fromhex("c03e05")
"""Field 1000 with the value 5."""

WHOLE = Booked(number=1, text="", data=b"", truth=False, real=0, side=Side.DEBIT, money=Money())

texts, datas, reals = st.text(max_size=9), st.binary(max_size=9), st.floats(allow_nan=False)
numbers, sides = st.integers(-(2**63), 2**63 - 1), st.sampled_from(Side)
moneys = st.builds(Money, cents=numbers, currency=texts, unknown=st.sampled_from([b"", FUTURE]))


def some(items: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.lists(items, max_size=3).map(tuple)


booked = st.builds(
    Booked, unknown=st.sampled_from([b"", FUTURE]),
    number=numbers, text=texts, data=datas, truth=st.booleans(), real=reals, side=sides, money=moneys,
    fee=st.none() | moneys, numbers=some(numbers), texts=some(texts), datas=some(datas), truths=some(st.booleans()),
    reals=some(reals), sides=some(sides), moneys=some(moneys), usual=numbers, other=sides,
)  # fmt: skip


@settings(deadline=None)
@given(event=booked)
def test_an_event_is_read_as_it_was_written(event: Event) -> None:
    assert decode(Booked, encode(event)) == event
    assert decode_any(*encode_any(event)) == event
    assert pickle.loads(pickle.dumps(event)) == copy.deepcopy(event) == event
    assert type(decode(Booked, encode(event)).side) is Side


@settings(deadline=None)
@given(cut=st.integers(0), junk=st.binary(max_size=30), event=booked)
def test_damaged_bytes_are_another_event_or_undecodable(cut: int, junk: bytes, event: Event) -> None:
    data = encode(event)
    at = cut % (len(data) + 1)
    for damaged in (data[:at], data[:at] + junk + data[at:], junk, data[:at] + junk):
        try:
            read = decode(Booked, damaged)
        except Undecodable:
            continue
        assert decode(Booked, encode(read)) == read


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "DepositedV2.account is missing"),
        (bytes.fromhex("0a0161"), "DepositedV2.cents is missing"),
        (bytes.fromhex("0a01ff1001"), "text that is not UTF-8"),
        (bytes.fromhex("0a"), "1 bytes are not a DepositedV2"),
        (bytes.fromhex("0a01611001") + FUTURE * UNKNOWN_BYTES_MAX, "bytes of unknown fields"),
    ],
)
def test_bytes_that_are_no_such_event_say_why(data: bytes, why: str) -> None:
    with pytest.raises(Undecodable, match=why):
        decode(DepositedV2, data)


def test_defaults_of_zero_are_not_written_and_others_are() -> None:
    assert encode(Money()) == b"\x12\x03EUR"
    assert encode(DepositedV2(account="a", cents=0)) == bytes.fromhex("0a01611000")


def test_a_field_that_was_appended_has_its_default_in_older_bytes() -> None:
    assert decode(Money, b"") == Money(cents=0, currency="EUR")
    assert decode(Booked, encode(WHOLE)) == WHOLE


def test_fields_of_a_newer_minor_change_are_kept() -> None:
    newer = encode(DepositedV2(account="a", cents=5)) + FUTURE
    assert encode(decode(DepositedV2, newer)) == newer


def test_an_unknown_number_in_an_enum_is_kept_or_undecodable() -> None:
    whole = encode(WHOLE)
    assert encode(decode(Booked, whole + bytes.fromhex("880163"))).endswith(bytes.fromhex("880163"))  # ``other``
    with pytest.raises(Undecodable, match=r"Booked\.side is 99, which this version does not know"):
        decode(Booked, whole.replace(bytes.fromhex("3001"), bytes.fromhex("3063")))


def test_an_event_cannot_be_changed_and_holds_nothing_that_can() -> None:
    given = Deposited(account="a", money=Money())
    with pytest.raises(FrozenInstanceError):
        given.account = "b"  # type: ignore[misc]  # what mypy says, too
    assert not hasattr(given, "__dict__")
    with pytest.raises(TypeError, match="a Deposited was given"):
        Deposited(account=["a"], money=Money())  # type: ignore[arg-type]  # on purpose


def test_an_event_within_another_is_of_the_declared_class() -> None:
    with pytest.raises(TypeError, match="expected <class 'Money'> got <class 'Balance'>"):
        encode(Deposited(account="a", money=Balance(cents=1)))  # type: ignore[arg-type]  # on purpose


def test_a_question_is_answered_with_the_declared_event() -> None:
    question = BalanceQuery(account="a")
    assert answer_to(question, Balance(cents=1)) == Balance(cents=1)
    with pytest.raises(TypeError, match="BalanceQuery was answered with Money, not Balance"):
        answer_to(question, Money())


def test_a_method_can_call_that_of_the_base_class() -> None:
    assert str(BalanceQuery(account="a")) == "balance of(account='a')"


def test_mail_carries_events_of_every_version() -> None:
    events = (DepositedV1(account="a", euros=3), Deposited(account="a", money=Money(cents=1)), Balance(cents=2))
    mail = Mail("bank", 1, 2, events)
    assert b"DepositedV1" not in pickle.dumps(mail)
    assert pickle.loads(pickle.dumps(mail)) == mail


@pytest.mark.parametrize("name", [*(f"till.deposited{end}" for end in ("/4", "/01", "/", "")), "x/1", "/"])
def test_mail_with_an_undeclared_event_is_undecodable(name: str) -> None:
    with pytest.raises(Undecodable, match="knows no message"):
        decode_any(name, b"")


def test_an_event_class_without_the_decorator_is_refused() -> None:
    class Plain(Event):
        __slots__ = ()

    with pytest.raises(TypeError, match="Plain is not declared; write @event"):
        encode(Plain())
    with pytest.raises(ConfigError, match="'Plain' is not declared; write @event above its class"):
        proto(Plain)


def test_the_schema_is_told_to_programs_in_other_languages() -> None:
    assert proto(Deposited, DepositedV1) == (
        "// Deposited is version 3 of till.deposited.\n"
        "// DepositedV1 is version 1 of till.deposited.\n"
        'syntax = "proto2";\n\n'
        "message Money {\n  optional int64 cents = 1;\n  optional string currency = 2;\n}\n\n"
        "message Deposited {\n"
        "  optional string account = 1;\n  optional Money money = 2;\n  optional string note = 3;\n}\n\n"
        "message DepositedV1 {\n  optional string account = 1;\n  optional int64 euros = 2;\n}\n"
    )
    assert "enum Side {\n  SIDE_DEBIT = 1;\n  SIDE_CREDIT = 2;\n}" in proto(Booked)
    assert "  repeated Side sides = 14 [packed = true];" in proto(Booked)


def test_two_classes_of_one_name_need_two_files() -> None:
    @event("test.second_money", version=1)
    class Money(Event):
        euros: int

    with pytest.raises(ConfigError, match="two messages or enums are called Money"):
        proto(Deposited, Money)
