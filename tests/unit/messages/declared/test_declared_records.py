"""Declared events on the log: what their records say, and what a reader gets of them."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callboard.actors import Event, RecordHeaders, event, event_of, record_of
from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.record import Record, pack_headers
from callboard.messages.untrusted import untrusted
from tests.unit.messages.declared.bank import Balance, Booked, Deposited, DepositedV1, DepositedV2, Money, Side

GIVEN: Any = {"record_id": "r-1", "time_ns": 5, "producer": "bank/1"}
TODAY = Deposited(account="a", money=Money(cents=300))


def written(event: Event, **more: str) -> Record:
    return record_of(event, **GIVEN, **more).at(7, 9)


def with_headers(record: Record, **headers: str) -> Record:
    return replace(record, header_block=pack_headers(tuple({**dict(record.headers), **headers}.items())))


def test_the_headers_of_a_record_tell_the_event() -> None:
    record = record_of(TODAY, **GIVEN, key="k", cause="c-1", traceparent="00-aa-bb-01")
    assert record.key == "k"
    assert dict(record.headers) == {
        "type": "till.deposited", "version": "3.0", "id": "r-1", "time_ns": "5", "cause": "c-1",
        "traceparent": "00-aa-bb-01", "producer": "bank/1",
    }  # fmt: skip
    assert RecordHeaders.parse(record.headers).version == (3, 0)


@pytest.mark.parametrize("was", [TODAY, DepositedV2(account="a", cents=300), DepositedV1(account="a", euros=3)])
def test_every_version_is_read_as_what_it_is_today(was: Event) -> None:
    assert event_of(written(was)) == TODAY


def test_the_order_of_headers_and_unknown_ones_make_no_difference() -> None:
    record = written(TODAY)
    other = pack_headers((("colour", "red"), *reversed(record.headers), ("version", "77.0")))
    assert event_of(replace(record, header_block=other)) == TODAY
    assert event_of(with_headers(record, version="3.7")) == TODAY
    assert event_of(with_headers(record, version="3")) == TODAY


@pytest.mark.parametrize(
    ("headers", "error", "why"),
    [
        ({"type": "till.depositd"}, Undecodable, "no event 'till.depositd' is declared; import the module"),
        ({"type": "PackageMessage"}, Undecodable, "no event 'PackageMessage' is declared"),
        ({"version": "4.0"}, SchemaTooNew, "version 4 of 'till.deposited', and this process knows up to 3; upgrade"),
        ({"version": "999999999.1"}, SchemaTooNew, "version 999999999 of"),
        ({"version": "0.0"}, Undecodable, "version 0 of 'till.deposited' is not declared, only 1, 2, 3; declare it"),
        ({"version": "x"}, Undecodable, "the header 'version' is 'x'"),
        ({"time_ns": "soon"}, Undecodable, "the header 'time_ns' is 'soon'"),
        ({"type": ""}, Undecodable, "no header 'type'"),
    ],
)
def test_a_record_that_cannot_be_read_stops_the_reader(headers: Any, error: type[Exception], why: str) -> None:
    with pytest.raises(error, match=r"the record at offset 7 cannot be decoded: .*" + why):
        event_of(with_headers(written(TODAY), **headers))


def test_a_record_that_is_damaged_or_not_trusted_stops_the_reader() -> None:
    record = written(TODAY)
    with pytest.raises(Undecodable, match=r"the record at offset 7 cannot be decoded: 1 bytes are not a Deposited"):
        event_of(replace(record, payload=b"\x0a"))
    with pytest.raises(Undecodable, match="the record at offset 7 does not count: it has no signature"):
        event_of(untrusted(record, "it has no signature"))


@settings(deadline=None)
@given(payload=st.binary(max_size=60), block=st.binary(max_size=60), begins=st.booleans())
def test_hostile_records_are_undecodable(payload: bytes, block: bytes, begins: bool) -> None:
    beginning = b"type\0till.booked\0version\x001.0\0time_ns\x005\0" if begins else b""
    record = Record(offset=1, time_ns=1, payload=payload, header_block=beginning + block)
    with suppress(Undecodable, SchemaTooNew):
        assert isinstance(event_of(record), Booked)


def versions(name: str, result: Any) -> Event:
    """An event of version 1 whose ``upcast`` returns or raises the result."""

    def upcast(self: Event) -> Any:
        if isinstance(result, Exception):
            raise result
        return self if result is ... else result

    def made(version: int, **names: Any) -> type[Event]:
        cls = type(f"{name.title()}{version}", (Event,), {"__annotations__": {}, "__module__": __name__, **names})
        return event(f"test.{name}", version=version)(cls)

    made(2)
    return made(1, upcast=upcast)()


NONSENSE = {
    "nothing": (None, r"Nothing1.upcast\(\) returned None, not a later version of 'test.nothing' than 1; correct it"),
    "same": (..., "returned Same1.*, not a later version"),
    "other": (Balance(cents=1), "returned Balance"),
    "text": ("Deposited", "returned 'Deposited'"),
    "error": (ZeroDivisionError("by zero"), r"failed with ZeroDivisionError\('by zero'\); correct it"),
}


@pytest.mark.parametrize("name", NONSENSE)
def test_an_upcast_that_returns_nonsense_stops_the_reader(name: str) -> None:
    result, why = NONSENSE[name]
    with pytest.raises(Undecodable, match=r"the record at offset 7 cannot be decoded: .*" + why):
        event_of(written(versions(name, result)))


def test_a_version_between_others_that_is_not_declared_stops_the_reader() -> None:
    def made(version: int, **names: Any) -> type[Event]:
        cls = type(f"Gap{version}", (Event,), {"__annotations__": {}, "__module__": __name__, **names})
        return event("test.gap", version=version)(cls)

    last = made(3)
    first = made(1, upcast=lambda self: last())
    assert event_of(written(first())) == last()
    with pytest.raises(Undecodable, match=r"version 2 of 'test.gap' is not declared, only 1, 3"):
        event_of(with_headers(written(last()), version="2.0"))


WHOLE: Any = {"number": 1, "text": "", "data": b"", "truth": False, "real": 0.0, "side": Side.DEBIT, "money": Money()}


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("number", "5", TypeError), ("number", 2**63, ValueError), ("number", 1.5, TypeError),
        ("text", b"\xff", ValueError), ("text", "\ud800", ValueError), ("data", "text", TypeError),
        ("side", 9, ValueError), ("real", "x", TypeError),
        ("texts", (1,), TypeError), ("numbers", 5, TypeError), ("moneys", (None,), TypeError), ("fee", 5, TypeError),
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_refused_with_the_name_of_its_field(
    field: str, value: Any, error: type[Exception]
) -> None:
    with pytest.raises(error, match=f"Booked cannot be written: .*{field}"):
        record_of(Booked(**{**WHOLE, field: value}), **GIVEN)


def test_a_wrong_value_inside_an_event_is_named_too() -> None:
    with pytest.raises(TypeError, match=r"Deposited cannot be written: Money.cents is 'x', but"):
        record_of(Deposited(account="a", money=Money(cents="x")), **GIVEN)  # type: ignore[arg-type]  # on purpose
    with pytest.raises(TypeError, match="Record is not declared; write @event"):
        record_of(written(TODAY), **GIVEN)
