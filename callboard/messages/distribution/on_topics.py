"""Which message is on which topic: the one list of them. The event topic has its own, see ``package_event``."""

from typing import NamedTuple

from callboard.messages.distribution.topic_messages import (
    ArchivedMessage,
    CommandMessage,
    CommandResultMessage,
    DiscoveryMessage,
    ForgottenMessage,
    LogMessage,
    PackageMessage,
    PackageStatusMessage,
    PingMessage,
    ThrottledMessage,
)
from callboard.messages.event import Event


class OnTopic(NamedTuple):
    """A sort of message, and its topic by the name without the prefix; empty if it may be on any."""

    topic: str
    cls: type[Event]
    column: str = ""
    """What has it in tables of records; empty if nothing has."""
    original: str = ""
    """The number that Apache Sling's journal of 2019, the original, wrote as the type."""


ON_TOPICS = (
    OnTopic("package", PackageMessage, "package", original="2"),
    OnTopic("status", PackageStatusMessage, "status", original="3"),
    OnTopic("status", CommandResultMessage, "result"),
    OnTopic("discovery", DiscoveryMessage, "discovery", original="1"),
    OnTopic("discovery", ForgottenMessage, "forgotten"),
    OnTopic("command", CommandMessage, "command", original="4"),
    OnTopic("", PingMessage, original="5"),
    OnTopic("discovery", LogMessage, "log"),
    OnTopic("discovery", ThrottledMessage, "throttled"),
    OnTopic("discovery", ArchivedMessage),
)


def classes_on(topic: str) -> tuple[type[Event], ...]:
    """The messages of a topic, and those of any."""
    return tuple(each.cls for each in ON_TOPICS if each.topic in ("", topic))
