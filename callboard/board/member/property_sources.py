"""The properties of the own instance: the service's own ones, and those that providers give."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum

from callboard.board.member.calling import Failures, called
from callboard.errors import Undecodable
from callboard.logger import get_logger
from callboard.messages.distribution.topic_messages import Pairs
from callboard.messages.topology.limits import NAME, VALUE_BYTES_MAX, check_properties


class WellKnownProperty(StrEnum):
    """Names of properties with a meaning for people and programs."""

    NAME = "instance.name"
    DESCRIPTION = "instance.description"
    ENDPOINTS = "instance.endpoints"
    """The addresses of the instance, with commas between them."""


Get = Callable[[str], str | Awaitable[str | None] | None]
"""Returns the value of the property with this name; None if it has none. Synchronous or asynchronous."""


class Provider:
    """Gives the properties ``names``; invalid names are logged and ignored. If several give the same one, the highest
    ``ranking`` wins, then the one that was added first.
    """

    def __init__(self, names: tuple[str, ...], get: Get, ranking: int = 0) -> None:
        self.names, self.get, self.ranking = tuple(filter(NAME.fullmatch, names)), get, ranking
        if invalid := [name for name in names if name not in self.names]:
            get_logger().warning("properties.left_out", reasons=dict.fromkeys(invalid, "this is not a valid name"))
        self.values: dict[str, str] = {}
        """What it gave last; kept if it then fails."""

    def gave(self, values: Mapping[str, object]) -> None:
        """It gave these values; those that are not text count as none."""
        self.values = {name: value for name, value in values.items() if isinstance(value, str)}

    async def poll(self, interval_s: float, asked: Callable[[], None]) -> None:
        """Ask it again and again, until cancelled; ``asked`` is called after each time."""
        failures = Failures("provider.failed")
        while True:
            try:
                values = {name: await called(self.get, name) for name in self.names}
                self.gave(values)
                _demand_text(values)
            except Exception as error:  # noqa: BLE001 - the service's own function may fail in any way
                failures.note(error)
            else:
                failures.end()
            asked()
            await asyncio.sleep(interval_s)


class PropertySources:
    """The service's own properties, which rank as 0 and come first, and its providers."""

    def __init__(self, own: Mapping[str, str]) -> None:
        self.own = Provider(tuple(own), own.get)
        self.own.gave(own)
        self.providers: list[Provider] = []
        self.left_out: dict[str, str] = {}
        """The properties that do not fit into the limits, and why."""

    def wanted(self) -> dict[str, str]:
        """The properties that the instance should have, without the lowest ranking ones that exceed the limits."""
        chosen: dict[str, str] = {}
        left_out: dict[str, str] = {}
        for source in sorted((self.own, *self.providers), key=lambda each: -each.ranking):
            for name, value in source.values.items():
                if name in chosen:
                    continue
                try:
                    _demand_size(name, value)
                    check_properties((*chosen.items(), (name, value)))
                except Undecodable as error:
                    left_out[name] = str(error)
                else:
                    chosen[name] = value
        if left_out and left_out != self.left_out:
            get_logger().warning("properties.left_out", reasons=left_out)
        self.left_out = left_out
        return chosen

    def lack_own(self, present: Mapping[str, str]) -> bool:
        """Whether the instance, with the ``present`` properties, does not yet have what the service's own properties
        demand. What its providers give may have changed again when it is written.
        """
        put, unset = changes(present, self.wanted())
        theirs = {name for each in self.providers for name in each.names}
        return not theirs.issuperset(unset) or any(
            name not in theirs or value == self.own.values.get(name) for name, value in put
        )

    @property
    def pairs(self) -> Pairs:
        """The same, as it is written."""
        return tuple(sorted(self.wanted().items()))


def changes(present: Mapping[str, str], wanted: Mapping[str, str]) -> tuple[Pairs, tuple[str, ...]]:
    """What to set and what to unset, for the instance to have the wanted properties; both are empty for nothing."""
    new = [(name, value) for name, value in wanted.items() if present.get(name) != value]
    return tuple(sorted(new)), tuple(sorted(set(present) - set(wanted)))


def _demand_text(values: Mapping[str, object]) -> None:
    for name, value in values.items():
        if not isinstance(value, str | None):
            raise TypeError(f"the property {name} is left out: {value!r:.80} is not text")


def _demand_size(name: str, value: str) -> None:
    size = len(value.encode(errors="replace"))
    if size > VALUE_BYTES_MAX or not _is_utf8(value):
        raise Undecodable(f"the property {name} has {size} bytes, and the most is {VALUE_BYTES_MAX}, in UTF-8")


def _is_utf8(value: str) -> bool:
    return value == value.encode(errors="replace").decode()
