"""What is known of a site: the subscribers behind a relay, as it tells of them, or as their own log does."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SiteSubscriber:
    """A subscriber of a site, named ``SITE/SUBSCRIBER``.

    ``state`` is its liveness if it is not live. ``offset`` is of this board's log: everything up to it has been
    processed. ``lag_packages`` and ``lag_s`` are the size and the age of its queue at the site, -1 if unknown.
    """

    name: str
    state: str
    reason: str
    offset: int
    lag_packages: int
    lag_s: float
    attempts: int
    errors: int
    needs: bool
    editable: bool


@dataclass(frozen=True, slots=True)
class SiteStatus:
    """The subscribers of a site, those of further sites behind it included.

    ``states`` says how many are in which state, ``needs`` how many need an operator, and ``errors`` counts their error
    queues. The relay itself has processed this board's log up to ``relayed``; ``behind`` packages come after that, -1
    if unknown. All this was so ``age_s`` seconds ago, -1 if nothing was heard yet; ``problem`` says why it is no newer.
    ``place`` is the site's log, ``log_id`` the identity of that. ``rows`` are the subscribers that are known by name,
    and ``missing`` says which are not there, and why.
    """

    name: str
    subscribers: int
    states: Mapping[str, int]
    needs: int
    errors: int
    relayed: int
    behind: int
    age_s: float
    problem: str
    place: str
    log_id: str
    rows: tuple[SiteSubscriber, ...]
    missing: str = ""
