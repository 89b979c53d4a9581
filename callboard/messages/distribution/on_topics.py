"""The list of messages on each topic. For the event topic see ``package_event``."""

from typing import NamedTuple

from callboard.messages.distribution import topic_messages
from callboard.messages.event import Event


class OnTopic(NamedTuple):
    """A message class, and its topic's name without the prefix; empty if it may be on any topic."""

    topic: str
    cls: type[Event]
    column: str = ""
    """Its column in tables of records; empty if it has none."""
    original: str = ""
    """The number that Apache Sling's journal of 2019, the original, wrote as the type."""


ON_TOPICS = (
    OnTopic("package", topic_messages.PackageMessage, "package", original="2"),
    OnTopic("status", topic_messages.PackageStatusMessage, "status", original="3"),
    OnTopic("status", topic_messages.CommandResultMessage, "result"),
    OnTopic("discovery", topic_messages.DiscoveryMessage, "discovery", original="1"),
    OnTopic("discovery", topic_messages.ForgottenMessage, "forgotten"),
    OnTopic("command", topic_messages.CommandMessage, "command", original="4"),
    OnTopic("", topic_messages.PingMessage, original="5"),
    OnTopic("discovery", topic_messages.LogMessage, "log"),
    OnTopic("discovery", topic_messages.ThrottledMessage, "throttled"),
    OnTopic("discovery", topic_messages.ArchivedMessage),
)


def classes_on(topic: str) -> tuple[type[Event], ...]:
    """The message classes of a topic, and those that may be on any."""
    return tuple(each.cls for each in ON_TOPICS if each.topic in ("", topic))
