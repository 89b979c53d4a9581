"""The events that this process has declared, by class and by name and version."""

from dataclasses import dataclass

from google.protobuf.message import Message

from callboard.errors import ConfigError
from callboard.messages.event import Event


@dataclass(frozen=True, slots=True)
class Declaration:
    """A declared class, what it is called on the log, and the Protocol Buffers class of its messages."""

    cls: type[Event]
    name: str
    version: int
    message: type[Message]

    def __str__(self) -> str:
        return f"version {self.version} of {self.name!r} ({place_of(self.cls)})"


_OF_CLASS: dict[type[Event], Declaration] = {}
_OF_NAME: dict[str, dict[int, Declaration]] = {}


def declaration_of(cls: type) -> Declaration | None:
    """How this class is declared; None if it is not."""
    return _OF_CLASS.get(cls)


def versions_of(name: str) -> dict[int, Declaration]:
    """What is declared under this name, by version, the newest last; empty if nothing is."""
    return _OF_NAME.get(name, {})


def register(new: Declaration) -> None:
    """Make the declaration known. A module that is imported again replaces its own.

    Raises ``ConfigError`` when another class has the name and version, and when an older version has no ``upcast``.
    """
    others = versions_of(new.name)
    same = others.get(new.version)
    if same is not None and place_of(same.cls) != place_of(new.cls):
        again = f"{place_of(new.cls)} declares {same} again"
        raise ConfigError(f"{again}; give one of them another name or version, and import their module only once")
    every = dict(sorted({**others, new.version: new}.items()))
    *older, newest = every.values()
    for each in older:
        if not callable(getattr(each.cls, "upcast", None)):
            what = f"{place_of(each.cls)} is older than {newest}, but has no upcast()"
            raise ConfigError(f"{what}; give it one that returns the {newest.cls.__name__} that it is today")
    _OF_NAME[new.name] = every
    _OF_CLASS[new.cls] = new


def place_of(cls: type) -> str:
    """Where a class is defined, for people."""
    return f"{cls.__module__}.{cls.__qualname__}"


def mail_name(cls: type[Event]) -> str:
    """What the class is called in mail between the processes of an agent."""
    its = _OF_CLASS.get(cls)
    return f"{its.name}/{its.version}" if its else cls.__name__


def mailed(name: str) -> type[Event] | None:
    """The declared class that ``mail_name`` called this; None if there is none."""
    event, _, version = name.partition("/")
    return next((its.cls for its in versions_of(event).values() if str(its.version) == version), None)
