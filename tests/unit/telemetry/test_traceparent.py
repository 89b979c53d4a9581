"""The header of a record is anybody's text: only what the W3C allows names a span."""

import pytest

from callboard.telemetry.traceparent import Traceparent, parsed, trace_of

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.mark.parametrize("header", [f"00-{TRACE}-{SPAN}-01", f"00-{TRACE}-{SPAN}-00", f"00-{TRACE}-{SPAN}-03"])
def test_a_header_is_read_as_it_was_written(header: str) -> None:
    its = parsed(header)
    assert its == Traceparent(TRACE, SPAN, int(header[-2:], 16))
    assert str(its) == header
    assert trace_of(header) == {"trace_id": TRACE}


@pytest.mark.parametrize(
    "header",
    [
        "", "00", f"ff-{TRACE}-{SPAN}-01", f"00-{'0' * 32}-{SPAN}-01", f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01", f"00-{TRACE}-{SPAN}-01\n", f" 00-{TRACE}-{SPAN}-01", f"00-{TRACE}-{SPAN}-1",
        f"00-{TRACE}-{SPAN}-0\u0661", f"00-{TRACE}-{SPAN}-01-more", f"0\0-{TRACE}-{SPAN}-01", "\udcff" * 55,
        "0" * 10_000, f"00-{TRACE}-{SPAN}-01" * 200,
    ],
)  # fmt: skip
def test_anything_else_names_no_span(header: str) -> None:
    assert parsed(header) is None
    assert trace_of(header) == {}
