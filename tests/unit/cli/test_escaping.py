"""Text of others is shown on one line, escaped, so that it cannot control the terminal."""

import json

import pytest

from callboard.escaping import escaped


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, with spaces", "plain, with spaces"),
        ("größer 漢字 🎉", "größer 漢字 🎉"),
        ("\x1b[31mred", "\\u001b[31mred"),
        ("two\nlines\r\tand a tab", "two\\nlines\\r\\tand a tab"),
        ("\x9b31m C1", "\\u009b31m C1"),
        ("\x7f", "\\u007f"),
        ("a\u202egpj.exe", "a\\u202egpj.exe"),
        ("\u2066\u2069\u200e\u200f", "\\u2066\\u2069\\u200e\\u200f"),
        ("edge\u200d-1\ufeff", "edge\\u200d-1\\ufeff"),
        ("\u2028\u2029\x85", "\\u2028\\u2029\\u0085"),
        ("\udce9", "\\udce9"),
        ("\xa0\u3000", "\\u00a0\\u3000"),
        ("\U000e0041", "\\udb40\\udc41"),
        ("[bold]no markup[/bold]", "[bold]no markup[/bold]"),
    ],
)
def test_escaping_is_reversible_and_keeps_printable_text(text, shown):
    assert escaped(text) == shown
    assert json.loads(f'"{shown}"') == text


def test_every_unprintable_character_is_escaped():
    everything = "".join(map(chr, range(0x110000)))
    assert escaped(everything).isprintable()
