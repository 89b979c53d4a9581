"""The holder of each subscriber's name, by the simplest reading of the discovery topic; only it may import."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from callboard.actors.subscriber import SubscriberSettings
from callboard.actors.subscriber.effects import Permit
from callboard.messages.distribution.topic_messages import DiscoveryMessage, State

Who = tuple[str, str]
"""An instance of a subscriber, and its place."""


@dataclass(frozen=True, slots=True)
class Tenant:
    """Has a name since the announcement at ``since``; its last one, at ``offset``, is its lease."""

    who: Who
    since: int
    offset: int
    until_ns: int
    claim: DiscoveryMessage
    before: int
    """Its announcement before the last one. Without it on the topic, the tenant itself cannot see whether another one
    took the name, and may claim it from that one."""


@dataclass(slots=True)
class Tenants:
    """Of every name the one that has it: the first to claim it while it is free, until it stops, or another one names
    its last announcement. ``now_ns`` is the time that no host's clock can change, and none may be named before its
    time.
    """

    now_ns: Callable[[], int]
    suspended_ns: Callable[[str, int], int] = lambda _, __: 0
    """For how long the process in that place was suspended since then."""
    hasty: Callable[[str], None] = lambda _: None
    """Called for a name that was taken over too early, or from a holder that continues."""
    first: int = 0
    """The first offset of the topic."""
    longest_s: float = 0.0
    """The longest lease that an instance may have."""
    settings: dict[str, SubscriberSettings] = field(default_factory=dict)
    """By name; those of one name may differ in how long a claim lives."""
    held: dict[str, Tenant] = field(default_factory=dict)
    permits: dict[str, dict[Who, Permit]] = field(default_factory=lambda: defaultdict(dict))
    """By name, until when those that imported under it believe to hold it, in seconds since the beginning."""
    known_ns: dict[str, int] = field(default_factory=dict)
    """By name, since when it is announced; nothing waits for one that has said goodbye, until it is back."""
    late: dict[str, dict[Who, int]] = field(default_factory=lambda: defaultdict(dict))
    """By name, the claims of others since its tenant's time was over. Each names whom it takes the name from, or
    since when it has it; but where announcements were removed, what is left can show another holder than the tenant.
    Then one of these gets the name, and says so next, even if a later claim names the tenant's last announcement."""
    furthest: dict[str, int] = field(default_factory=dict)
    """How far a subscriber has said that it is, by name; a host that dies may be set back behind what it said."""

    def forget(self) -> None:
        """Another log is in place, with other announcements."""
        for known in (self.held, self.known_ns, self.late, self.furthest):
            known.clear()

    def heard(self, claim: DiscoveryMessage, offset: int) -> None:
        """An announcement is on the log, since now."""
        name, who, now_ns = claim.subscriber, (claim.subscriber_instance, claim.place), self.now_ns()
        self.furthest[name] = max(self.furthest.get(name, -1), claim.offset)
        tenant, since, previous = self.held.get(name), offset, offset
        got = claim.term >= 0 and claim.term == self.late[name].get(who)
        if claim.term >= 0 and (got or (tenant is not None and tenant.who == who)):
            self.late[name].clear()
        if tenant is not None and tenant.who == who:
            since, before, previous = tenant.since, tenant.claim, tenant.offset
            again = before.term >= 0 > claim.term and claim.takes_over not in (-1, before.takes_over)
            if again and tenant.before >= self.first:
                self.hasty(f"{who} has {name} since {since}, and took it over at {claim.takes_over}")
        elif tenant is not None and not got:
            known = claim.takes_over == tenant.offset
            if not known and max(claim.takes_over, claim.term) >= 0 and now_ns >= tenant.until_ns:
                self.late[name][who] = offset
            if not known and (claim.term <= tenant.since or now_ns < tenant.until_ns):
                return  # or by what is left of the topic, where not all is known, it was decided to have a free name
            lease_ns = tenant.claim.lease_ms * 10**6  # half of which may be a time in which the other one was suspended
            unheard_ns = self.suspended_ns(who[1], tenant.until_ns - lease_ns) - lease_ns // 2 if known else 0
            if (early_ns := tenant.until_ns - now_ns + max(unheard_ns, 0)) > 0:
                self.hasty(f"{who} took {name} from {tenant.who} {early_ns / 1e9:.3f} s too early")
        if claim.state is State.STOPPED:
            self.permits[name].pop(who, None)
            self.held.pop(name, None)
            self.known_ns.pop(name, None)
        else:
            self.known_ns.setdefault(name, now_ns)
            until_ns = now_ns + claim.lease_ms * 10**6
            self.held[name] = Tenant(who, max(since, claim.term), offset, until_ns, claim, previous)

    def rival(self, name: str, me: Who, permit: Permit, mono_s: float) -> Who | None:
        """Who else may import now: it has the lease, by its announcement or in its own opinion."""
        self.permits[name][me] = permit
        tenant = self.held.get(name)
        lent = tenant is not None and self.now_ns() < tenant.until_ns and me not in self.late[name]
        if tenant is not None and tenant.who != me and lent:
            return tenant.who
        return next((who for who, its in self.permits[name].items() if who != me and not its.is_over(mono_s)), None)

    def holder(self, name: str) -> Who | None:
        """Who has the name now."""
        tenant = self.held.get(name)
        return tenant.who if tenant is not None and self.now_ns() <= tenant.until_ns else None
