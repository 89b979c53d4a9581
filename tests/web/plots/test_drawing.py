"""Plots as SVG: where lines are, what is at the axes, and that nothing written by others gets through."""

import math
import re
from xml.etree import ElementTree as ET

import pytest

from callboard.web.console.plots.lines import Line, Window
from callboard.web.console.plots.svg import HEIGHT, LEFT, RIGHT, WIDTH, Scale, path, plotted, step_for, written

WINDOW = Window(1_800_000_000.0, 1_800_000_900.0)
HOSTILE = "\"'><script>alert(1)</script>\u202e"
SVG = "{http://www.w3.org/2000/svg}"


def line(name: str, *values: float, step_s: float = 100.0) -> Line:
    return Line(name, [(WINDOW.start_s + number * step_s, value) for number, value in enumerate(values)])


def parsed(drawn: str) -> ET.Element:
    return ET.fromstring(drawn)


def test_a_plot_has_a_title_and_says_its_values_in_words():
    drawn = parsed(plotted("lag", "Behind", [line("all", 1, 5, 2), line("edge", 0, math.nan)], WINDOW, unit="packages"))
    [svg] = [each for each in drawn.iter() if each.get("role") == "img"]
    names = {each.get("id"): "".join(each.itertext()) for each in drawn.iter() if each.get("id")}
    title, words = (names[name] for name in svg.get("aria-labelledby").split())
    assert title == "Behind, packages"
    assert " ".join(words.split()) == (
        "From 2027-01-15 08:00 UTC to 2027-01-15 08:15 UTC. all: 2 now, 5 at most. edge: unknown now, 0 at most."
    )
    assert "all: 2, at most 5" in "".join(drawn.itertext())


def test_a_plot_has_neither_styles_nor_scripts_nor_what_names_smuggle_in():
    drawn = plotted("lag", HOSTILE, [line(HOSTILE, 1, 2)], WINDOW, note=HOSTILE)
    elements = list(parsed(drawn).iter())
    assert not [each for each in elements if "script" in each.tag or "style" in each.attrib]
    assert not [name for each in elements for name in each.attrib if name.startswith("on")]
    assert "\u202e" not in drawn
    assert "\\u202e" in drawn


def test_lines_stay_within_the_axes_and_the_greatest_value_below_the_top():
    drawn = plotted("lag", "Behind", [line("all", *range(10))], WINDOW)
    [drawing] = re.findall(r'class="line line-1" d="(M\d[^"]*)"', drawn.split("<ul")[0])
    places = [tuple(map(float, pair)) for pair in re.findall(r"[ML](\S+) ([\d.]+)", drawing)]
    assert all(LEFT <= x <= WIDTH - RIGHT and 0 <= y <= HEIGHT for x, y in places)
    assert sorted(places) == places


def test_a_gap_interrupts_the_line_and_a_value_on_its_own_is_a_dot():
    across, up = Scale(0, 10, 0, 100), Scale(0, 10, 100, 0)
    gap = Line("", [(1, 1), (2, 2), (2, math.nan), (5, 3), (5, math.nan)])
    assert path(gap, across, up) == "M10.0 90.0h0L20.0 80.0M50.0 70.0h0"


def test_nothing_known_is_said_and_not_drawn_as_nought():
    drawn = plotted("lag", "Behind", [line("all", math.nan), Line("b", [])], WINDOW)
    assert "nothing is known of this time" in drawn
    assert "Nothing is known." in drawn
    assert 'class="line' not in drawn


@pytest.mark.parametrize(
    ("span", "seconds", "step"),
    [(0, False, 1), (1, False, 0.5), (4, False, 1), (7, False, 2), (9000, False, 5000), (0.0004, False, 0.0001),
     (0.9, True, 0.5), (100, True, 30), (7200, True, 1800), (400_000, True, 172_800), (1e6, True, 259_200)],
)  # fmt: skip
def test_steps_are_round_and_few(span: float, seconds: bool, step: float):
    assert step_for(span, seconds=seconds) == pytest.approx(step)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(0, "", "0"), (0.25, "", "0.25"), (1204, "", "1,204"), (99_999, "", "99,999"), (2_500_000, "", "2,500k"),
     (3e9, "", "3,000M"), (1e13, "", "1e+13"), (0.03, "s", "30 ms"), (1.5, "s", "1.5 s"), (90, "s", "90 s"),
     (600, "s", "10 min"), (86_400, "s", "24 h"), (0, "s", "0 s")],
)  # fmt: skip
def test_values_at_the_axes_are_short(value: float, unit: str, text: str):
    assert written(value, unit) == text


def test_only_as_many_lines_as_can_be_told_apart_are_drawn():
    drawn = plotted("lag", "Behind", [line(f"s{number}", number) for number in range(20)], WINDOW)
    assert "s5" in drawn
    assert "s6" not in drawn
