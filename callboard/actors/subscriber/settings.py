"""How a subscriber behaves. One frozen object for all of its actors."""

from dataclasses import dataclass, field
from typing import Literal

from callboard.actors.core.backoff import Backoff
from callboard.actors.core.hooks import HookSettings
from callboard.actors.core.shortening_limits import ShorteningLimits
from callboard.backends.address import shown
from callboard.content.importing.target import OnOccupied
from callboard.messages.headers import SEPARATOR
from callboard.messages.topics import Topics

NO_RESEED = (
    "a subscriber does not reseed itself: only you know whose content is good, and this would replace all its content; "
    "stop it, fill an empty repository under its name with `callboard seed`, from a snapshot or another repository, "
    "and run it there; or have it read what was trimmed with --from-archive"
)
"""Why there is no ``on_gap = "reseed"``, and what to do instead."""


@dataclass(frozen=True, slots=True)
class SubscriberSettings:
    """The settings of a subscriber agent.

    ``follows`` names the publishers whose packages are imported; empty means all. Of these only the paths that
    ``include`` and ``exclude`` admit are imported; see ``PathPatterns``. ``max_retries`` below zero
    retries for ever, else a package is given up after ``max_retries + 1`` attempts. ``start`` is where a
    subscriber without a position begins: an offset is the first one to import.

    ``on_occupied`` says what to do with content that was in the repository before its first subscriber: refuse to
    start, adopt it, or replace (remove) it; see ``Target``.

    ``on_give_up``: a package that is given up is left out, held with all that touches its paths, or blocks.

    With ``golden``, the name of another subscriber, a package waits for that one's verdict on it. ``signed`` says that
    only signed records count on the log. ``skip_commands`` are offsets of the command topic to skip unread.

    With ``site``, the place of another log, it is a relay: it appends packages there, and speaks for the subscribers of
    that log, which are addressed by its name and theirs, as ``NAME/EDGE``.

    With ``standby`` it waits for its name, or its repository, while another one has it. ``place`` differs between two
    copies of one repository. The limits of readiness are explained in ``Readiness``; ``ready_reason`` is set when it
    starts again in a service that has found it ready.
    """

    name: str
    topics: Topics
    follows: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    editable: bool = False
    max_retries: int = -1
    start: Literal["earliest", "latest"] | int = "earliest"
    on_gap: Literal["fail", "earliest"] = "fail"
    on_occupied: OnOccupied = "refuse"
    on_undecodable: Literal["block", "dead_letter"] = "block"
    on_give_up: Literal["skip", "quarantine", "block"] = "skip"
    golden: str = ""
    site: str = ""
    signed: bool = False
    skip_commands: tuple[int, ...] = ()
    retry: Backoff = field(default_factory=lambda: Backoff(first_s=1.0, max_s=300.0))
    announce_interval_s: float = 10.0
    claim_ttl_s: float = 30.0
    repository: str = field(default="", repr=False)
    host: str = ""
    pid: int = 0
    version: str = ""
    hooks: HookSettings = field(default_factory=HookSettings)
    standby: bool = False
    place: str = ""
    ready_idle_s: float = 10.0
    ready_max_age_s: float = 120.0
    ready_force_s: float = 300.0
    ready_reason: str = ""

    shortening: ShorteningLimits | None = field(default_factory=ShorteningLimits)
    """What to keep of the topics that subscribers write; None leaves shortening to others."""
    outbox_max: int = 1000
    """Statuses that may wait for the status topic before imports wait too."""
    fetch_records: int = 128
    """Records asked for at a time: two batches."""
    fetch_bytes: int = 4 << 20
    """Bytes asked for at a time; up to twice as much is held."""
    batch_packages: int = 64
    """Packages imported together at most. Enough of them to share the cost of a transaction, and a batch that fails
    costs no more than this many imports one at a time."""
    batch_bytes: int = 8 << 20
    """Bytes imported together at most, unless one package alone has more."""
    coalesce: bool = True
    """Whether a package fully superseded by a later one, imported together with it, is left out (SUPERSEDED). The
    repository ends up the same; this only trades work against seeing each package there."""
    parallel: int = 4
    """Packages downloaded and checked at the same time: enough to hide the delay of a blob store."""

    @property
    def shown_repository(self) -> str:
        """The repository in a form that may be published: announcements stay on the log, for all to read."""
        return shown(self.repository)

    def speaks_for(self, subscriber: str) -> bool:
        """Whether this is the subscriber of that name, or its relay."""
        return subscriber == self.name or (bool(self.site) and subscriber.startswith(self.name + SEPARATOR))

    def follows_publisher(self, publisher: str) -> bool:
        """Whether packages of this publisher are imported."""
        return not self.follows or publisher in self.follows
