"""The properties of an instance: which provider wins, what is left out, and when there is something to write."""

import pytest

from callboard.board.member.property_sources import PropertySources, Provider, WellKnownProperty, changes
from callboard.messages.topology.limits import PROPERTIES_MAX, VALUE_BYTES_MAX


def given(ranking: int = 0, **values: object) -> Provider:
    provider = Provider(tuple(values), lambda name: None, ranking)
    provider.gave(values)
    return provider


def sources(*providers: Provider, **own: str) -> PropertySources:
    found = PropertySources(own)
    found.providers += providers
    return found


@pytest.mark.proves("T4")
def test_the_names_of_three_properties_are_agreed() -> None:
    names = [str(each) for each in WellKnownProperty]
    assert names == ["instance.name", "instance.description", "instance.endpoints"]
    assert sources(**dict.fromkeys(names, "x")).wanted() == dict.fromkeys(names, "x")


@pytest.mark.proves("T39")
def test_the_highest_ranking_wins_then_the_provider_that_was_there_first() -> None:
    low, first, second, high = given(-1, a="low"), given(5, b="first"), given(5, b="second"), given(9, c="high")
    found = sources(low, first, second, high, given(1, c="lower"), a="own")
    assert found.wanted() == {"a": "own", "b": "first", "c": "high"}


def test_a_provider_without_a_value_leaves_it_to_the_next() -> None:
    assert sources(given(9, a=None), given(1, a="next")).wanted() == {"a": "next"}
    assert sources(given(9, a=None)).wanted() == {}
    assert sources(given(9, a=7)).wanted() == {}


@pytest.mark.proves("T39")
@pytest.mark.parametrize("name", ["", "jcr:x", "a/b", "x@y", "x!y", "é", "x" * 101, "a\n"])
def test_invalid_names_are_ignored_and_logged(name: str, caplog: pytest.LogCaptureFixture) -> None:
    assert Provider((name, "-", "_", "a.b-C_1"), lambda name: name).names == ("-", "_", "a.b-C_1")
    assert "event='properties.left_out'" in caplog.text
    assert repr(name) in caplog.text


@pytest.mark.proves("T41")
def test_what_exceeds_the_limits_is_left_out_and_logged_once_and_the_highest_ranking_stays(
    caplog: pytest.LogCaptureFixture,
) -> None:
    many = {f"p{number}": "x" for number in range(PROPERTIES_MAX)}
    found = sources(given(-1, **many), top="1", large="x" * (VALUE_BYTES_MAX + 1), odd="\ud800")
    wanted = found.wanted()
    assert len(wanted) == PROPERTIES_MAX
    assert wanted["top"] == "1"
    assert set(found.left_out) == {"large", "odd", f"p{PROPERTIES_MAX - 1}"}
    assert "the property large has 1025 bytes, and the most is 1024" in found.left_out["large"]
    found.wanted()
    assert caplog.text.count("event='properties.left_out'") == 1
    assert found.left_out["large"] in caplog.text


@pytest.mark.proves("T40")
def test_only_what_changed_is_written_also_if_something_is_only_removed() -> None:
    assert changes({"a": "1"}, {"a": "1"}) == ((), ())
    assert changes({"a": "1", "b": "2"}, {"a": "1"}) == ((), ("b",))
    assert changes({"a": "1"}, {"c": "3", "a": "2"}) == ((("a", "2"), ("c", "3")), ())
