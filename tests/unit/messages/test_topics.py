"""The names of the topics."""

from dataclasses import astuple

import pytest

from callboard.errors import ConfigError
from callboard.messages.topics import Topics, control_topic


def test_topic_names_begin_with_the_prefix() -> None:
    assert Topics.with_prefix() == Topics.with_prefix("callboard")
    assert astuple(Topics.with_prefix("blue")) == (
        "blue.package",
        "blue.status",
        "blue.discovery",
        "blue.command",
        "blue.event",
    )


@pytest.mark.parametrize("prefix", ["", "Blue", "a/b", "-a", ".a", "a b", "ä", "a" * 80, "a\n"])
def test_a_prefix_that_gives_invalid_names_is_refused(prefix: str) -> None:
    with pytest.raises(ConfigError, match="cannot be the name of a topic; use"):
        Topics.with_prefix(prefix)


def test_the_longest_name_has_81_characters() -> None:
    longest = "a" * (81 - len(".discovery"))

    assert len(Topics.with_prefix(longest).discovery) == 81
    with pytest.raises(ConfigError):
        Topics.with_prefix(longest + "a")


def test_two_topics_with_the_same_name_are_refused() -> None:
    with pytest.raises(ConfigError, match="rename one"):
        Topics(package="a", status="b", discovery="c", command="d", event="a")


def test_the_control_topic_has_the_prefix_but_is_not_among_the_topics_of_every_board() -> None:
    assert control_topic("blue") == "blue.topology"
    assert control_topic() not in astuple(Topics.with_prefix())
    with pytest.raises(ConfigError, match="cannot be the name of a topic; use"):
        control_topic("Blue")
