"""Who has which subscriber's name, by the plainest reading of the discovery topic; and that nobody else imports."""

from collections.abc import Callable
from dataclasses import dataclass, field

from callboard.actors.subscriber import SubscriberSettings
from callboard.actors.subscriber.claim import INTERVALS
from callboard.messages.distribution import DiscoveryMessage, State

Who = tuple[str, str]
"""An instance of a subscriber, and its place."""


@dataclass(frozen=True, slots=True)
class Tenant:
    """Has a name until then, unless it speaks again."""

    who: Who
    until_ns: int


@dataclass(slots=True)
class Tenants:
    """Of every name the one that has it: the first to speak while it is free, until it stops or is silent for long."""

    now_ns: Callable[[], int]
    settings: dict[str, SubscriberSettings] = field(default_factory=dict)
    """By name; those of one name agree on how long a claim lives."""
    held: dict[str, Tenant] = field(default_factory=dict)
    known_ns: dict[str, int] = field(default_factory=dict)
    """Since when a name is spoken of; nobody waits for one that has said goodbye, until it is back."""
    furthest: dict[str, int] = field(default_factory=dict)
    """How far a subscriber has said that it is, by name; a host that dies may be set back behind what it said."""

    def forget(self) -> None:
        """Another log is in place, and says other things."""
        for known in (self.held, self.known_ns, self.furthest):
            known.clear()

    def heard(self, said: DiscoveryMessage, now_ns: int) -> None:
        """An announcement is on the log, since now."""
        name, who = said.subscriber, (said.subscriber_instance, said.place)
        self.furthest[name] = max(self.furthest.get(name, -1), said.offset)
        tenant = self.held.get(name)
        if tenant is not None and tenant.who != who and now_ns <= tenant.until_ns:
            return
        life_s = max(self.settings[name].claim_ttl_s, INTERVALS * said.announce_interval_ms / 1000)
        if said.state is State.STOPPED:
            self.held.pop(name, None)
            self.known_ns.pop(name, None)
        else:
            self.known_ns.setdefault(name, now_ns)
            self.held[name] = Tenant(who, now_ns + int(life_s * 1e9))

    def holder(self, name: str) -> Who | None:
        """Who has the name now."""
        tenant = self.held.get(name)
        return tenant.who if tenant is not None and self.now_ns() <= tenant.until_ns else None
