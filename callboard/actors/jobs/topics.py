"""The topics of jobs, and patterns for them."""

from typing import NamedTuple

CHILDREN, DESCENDANTS = "/*", "/**"
ALL = "**"


class Match(NamedTuple):
    """How a topic matches a pattern: the larger ``rank``, the more specific; ``part`` is what follows the prefix."""

    rank: int
    part: str


def matched(pattern: str, topic: str) -> Match | None:
    """How the topic matches: ``a/b`` is itself, ``a/*`` its children, ``a/**`` everything below, ``**`` all topics."""
    if pattern == topic:
        return Match(len(topic) + 3, "")
    if pattern == ALL:
        return Match(0, topic)
    for end in (DESCENDANTS, CHILDREN):
        if pattern.endswith(end):
            prefix = pattern.removesuffix(end) + "/"
            part = topic.removeprefix(prefix)
            if topic.startswith(prefix) and part and (end == DESCENDANTS or "/" not in part):
                return Match(len(prefix) + (end == CHILDREN), part)
            return None
    return None


def runs(patterns: tuple[str, ...], topic: str) -> bool:
    """Whether any of the patterns matches the topic."""
    return any(matched(pattern, topic) for pattern in patterns)
