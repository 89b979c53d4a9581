"""The names of the log's topics."""

import re
from dataclasses import astuple, dataclass
from typing import Self

from callboard.errors import ConfigError

PREFIX = "callboard"
"""The default prefix of a board's topic names."""

TOPIC_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,80}")
"""Names that every log can use: Kafka for topics, SQLite for files."""


@dataclass(frozen=True, slots=True)
class Topics:
    """The name of each topic on the log.

    Raises ``ConfigError`` for a name that not every log can use, and for two topics of the same name.
    """

    package: str
    status: str
    discovery: str
    command: str
    event: str

    def __post_init__(self) -> None:
        names = tuple(map(_checked, astuple(self)))
        if len(set(names)) < len(names):
            raise ConfigError(f"the topics {', '.join(names)} must have different names; rename one")

    @property
    def but_packages(self) -> tuple[str, ...]:
        """All topics except that of packages, the only one whose retention depends on subscribers."""
        return astuple(self)[1:]

    @classmethod
    def with_prefix(cls, prefix: str = PREFIX) -> Self:
        """The standard names behind a prefix, such as ``callboard.package``."""
        return cls(*(f"{prefix}.{name}" for name in SORTS))


SORTS: tuple[str, ...] = Topics.__match_args__
"""The names of the topics without the prefix, in display order."""


CONTROL, JOBS, BROADCASTS, LISTENERS = "topology", "job", "broadcast", "listener"


def control_topic(prefix: str = PREFIX) -> str:
    """The name of the control topic, on which the members of a cluster agree. It is not in ``Topics``, which every
    board has: the first member creates it.

    Raises ``ConfigError`` for a name that not every log can use.
    """
    return _checked(f"{prefix}.{CONTROL}")


def job_topic(prefix: str = PREFIX) -> str:
    """The name of the topic of jobs, which the first one to use it creates.

    Raises ``ConfigError`` for a name that not every log can use.
    """
    return _checked(f"{prefix}.{JOBS}")


def broadcast_topic(prefix: str = PREFIX) -> str:
    """The name of the topic of distributed events, which the first publisher or listener creates.

    Raises ``ConfigError`` for a name that not every log can use.
    """
    return _checked(f"{prefix}.{BROADCASTS}")


def listener_topic(prefix: str = PREFIX) -> str:
    """The name of the topic on which named listeners store how far they are. Raises as ``broadcast_topic``."""
    return _checked(f"{prefix}.{LISTENERS}")


def entity_topic(name: str, prefix: str = PREFIX) -> str:
    """The name of the topic of the entities of this name, which the first one to use them creates. Raises as
    ``broadcast_topic``.
    """
    return _checked(f"{prefix}.entity.{name}")


def is_control_topic(topic: str) -> bool:
    """Whether this is the name of a control topic."""
    return topic.endswith(f".{CONTROL}")


def _checked(name: str) -> str:
    if not TOPIC_NAME.fullmatch(name):
        raise ConfigError(
            f"{_shown(name)} cannot be the name of a topic; use at most 81 of a-z, 0-9, '.', '_' and '-', "
            "beginning with a letter or digit"
        )
    return name


def _shown(name: str) -> str:
    """The name for people, without the password of an address given here by mistake."""
    return repr(name if set(name).isdisjoint(":/@=") else "…")
