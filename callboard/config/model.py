"""The settings: their names, what they mean, their defaults and bounds."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from callboard.actors.subscriber.settings import NO_RESEED
from callboard.backends.echo import quoted
from callboard.backends.log import Retention
from callboard.backends.repositories.folder_source import EXCLUDED
from callboard.backends.repositories.paths import check_path
from callboard.config.sources import LOG
from callboard.content.collection import GRACE_MIN_S, GRACE_S
from callboard.door.limits import (
    ANNOUNCE_S_MIN,
    DAY_S,
    DAYS_MAX,
    HOUR_S,
    MB_MAX,
    OFFSET_MAX,
    PARALLEL_MAX,
    RETRIES_MAX,
    THROTTLE_S_MAX,
)
from callboard.door.members import name as member_word
from callboard.door.members import tags as member_tags
from callboard.door.rules import Unfit, pattern
from callboard.errors import ConfigError, RequestRefused
from callboard.messages.distribution.package_event import EVENTS, KINDS
from callboard.messages.distribution.topic_messages import ANNOUNCE_S_MAX
from callboard.messages.jobs.limits import SLOTS_MAX
from callboard.messages.topics import PREFIX
from callboard.messages.topology.limits import COUNT_MAX, TAGS_MAX


def _names(value: Any) -> Any:
    """A list may also be one text with commas, as in an environment variable."""
    return tuple(name.strip() for name in value.split(",") if name.strip()) if isinstance(value, str) else value


def _pattern(value: str) -> str:
    try:
        return pattern(value)
    except Unfit as unfit:
        raise ValueError(f"each should be {unfit.expected}") from None


def _instance(value: str) -> str:
    try:
        return member_word(value) if value else ""
    except Unfit as unfit:
        raise ValueError(f"should be {unfit.expected}") from None


def _tags(value: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return member_tags(value)
    except Unfit:
        raise ValueError(f"should be up to {TAGS_MAX} words of a-z, A-Z, 0-9, '.', '_' and '-'") from None


def _start(value: Any) -> Any:
    """An offset may be given as text."""
    if isinstance(value, str) and value.isdecimal():
        value = int(value)
    if value in ("earliest", "latest") or (type(value) is int and 0 <= value <= OFFSET_MAX):
        return value
    raise ValueError("should be earliest, latest, or an offset of 0 or more")


def _alike(name: str) -> str:
    """The name without differences that are easily confused."""
    return name.casefold().replace("-", "_")


Names = Annotated[tuple[str, ...], BeforeValidator(_names)]
Patterns = Annotated[tuple[Annotated[str, AfterValidator(_pattern)], ...], BeforeValidator(_names)]
Offset = Annotated[int, Field(ge=0, le=OFFSET_MAX)]
Offsets = Annotated[tuple[Offset, ...], BeforeValidator(_names)]


def _kinds(names: tuple[str, ...]) -> tuple[str, ...]:
    """Kinds of events."""
    if unknown := sorted(set(names).difference(KINDS)):
        raise ValueError(f"{quoted(unknown[0])} is not an event; choose among {', '.join(KINDS)}")
    return names


def _on_gap(value: Any) -> Any:
    if value == "reseed":
        raise ValueError(NO_RESEED)
    return value


OnGap = Annotated[Literal["fail", "earliest"], BeforeValidator(_on_gap)]
Kinds = Annotated[Names, AfterValidator(_kinds)]
Start = Annotated[Literal["earliest", "latest"] | int, BeforeValidator(_start)]


class Section(BaseModel):
    """Settings that belong together; frozen, and unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, hide_input_in_errors=True)


class PublisherSection(Section):
    """The publisher, which ships content."""

    name: str = Field(default="main", description="the name that subscribers follow")
    source: str = Field(default="", description="the folder that `run publisher` watches, or ships from on request")
    include: Patterns = Field(default=(), description="ship only these paths: patterns such as *.html or /blog/**")
    exclude: Patterns = Field(default=EXCLUDED, description="patterns of paths that are never shipped")
    max_package_mb: float | None = Field(
        default=None, gt=0, le=MB_MAX, examples=[500.0], description="limit of a package's files together, in MB"
    )
    throttle_by: Literal["none", "editable", "all"] = Field(
        default="none", description="throttle requests by the backlog of: none, editable subscribers, or all"
    )
    throttle_for: Names = Field(default=(), description="subscribers whose backlog always throttles requests")
    throttle_at: int = Field(
        default=1000, ge=1, le=OFFSET_MAX, description="throttle requests above a backlog of this many packages"
    )
    throttle_max_s: float = Field(
        default=20.0,
        gt=0,
        le=THROTTLE_S_MAX,
        description="longest delay of a request in seconds, reached at twice that backlog",
    )
    events: Kinds = Field(
        default=EVENTS, description="events that `run publisher` writes: created, queued, distributed, imported, failed"
    )
    compress: bool = Field(default=True, description="compress packages that shrink")


def _at(place: str) -> str:
    try:
        return check_path(place)
    except RequestRefused as error:
        raise ValueError(str(error)) from error


class SourcesSection(Section):
    """What callboard remembers of one publisher: ``[publishers.NAME]``."""

    sources: dict[str, Annotated[str, AfterValidator(_at)]] = Field(
        default={}, description="where each folder goes at subscribers"
    )


class SubscriberSection(Section):
    """The subscriber, which imports content. ``[subscribers.NAME]`` has the same keys, for one subscriber only."""

    into: str = Field(
        default="",
        repr=False,
        description="the repository: a folder, sqlite:FILE, or postgresql://...?repository=NAME",
    )
    follows: Names = Field(default=(), description="import the packages of these publishers only; default: all")
    expect: bool = Field(
        default=False,
        description="accept unknown publishers in follows, and an unknown golden subscriber",
    )
    include: Patterns = Field(default=(), description="import only these paths: patterns such as *.html or /blog/**")
    exclude: Patterns = Field(default=(), description="leave these paths as they are: patterns")
    editable: bool = Field(default=False, description="allow clearing its queue, so that its content may differ")
    golden: str = Field(default="", description="wait for this subscriber's verdict on each package")
    skip_commands: Offsets = Field(default=(), description="offsets of unreadable commands to skip")
    max_retries: int = Field(
        default=-1, ge=-1, le=RETRIES_MAX, description="retries before it gives a package up; -1: no limit"
    )
    on_give_up: Literal["skip", "quarantine", "block"] = Field(
        default="skip",
        description="then: skip (to the error queue), quarantine (with later packages on its paths), or block",
    )
    coalesce: bool = Field(
        default=True, description="leave out packages fully superseded by a later one of the same batch"
    )
    parallel: int = Field(default=4, ge=1, le=PARALLEL_MAX, description="packages downloaded in parallel")
    start: Start = Field(default="earliest", description="a new subscriber starts at: earliest, latest, or an offset")
    on_gap: OnGap = Field(
        default="fail", description="if the next package was trimmed: fail (and wait), or continue at the earliest"
    )
    on_undecodable: Literal["block", "dead_letter"] = Field(
        default="block", description="on a record that cannot be decoded: block, or dead_letter (to the error queue)"
    )
    announce_interval_s: float = Field(
        default=10.0,
        ge=ANNOUNCE_S_MIN,
        le=ANNOUNCE_S_MAX,
        description="seconds between announcements; more in a fleet of more than 100",
    )
    retry_first_s: float = Field(default=1.0, gt=0, le=HOUR_S, description="seconds to the first retry; then doubled")
    retry_max_s: float = Field(default=300.0, gt=0, le=DAY_S, description="limit of the seconds between retries")
    before_import: str = Field(default="", description="hook called before content changes: module:function")
    after_import: str = Field(default="", description="hook called after content has changed: module:function")
    on_invalidate: str = Field(default="", description="hook called for invalidated paths: module:function")
    hook_timeout_s: float = Field(default=60.0, gt=0, le=DAY_S, description="seconds until a hook call has failed")
    hook_max_retries: int = Field(
        default=10, ge=-1, le=RETRIES_MAX, description="retries before it gives up an after_import call; -1: no limit"
    )
    ready_idle_s: float = Field(default=10.0, ge=0, le=HOUR_S, description="ready after this long without packages")
    ready_max_age_s: float = Field(
        default=120.0, ge=0, le=DAY_S, description="ready once it imports a package younger than this, in seconds"
    )
    ready_force_s: float = Field(default=300.0, ge=0, le=DAY_S, description="ready this long after the start at latest")
    standby: bool = Field(default=False, description="wait while another process holds the name or the repository")
    stop_drain_s: float = Field(
        default=30.0, ge=0, le=HOUR_S, description="seconds that a running import may take to finish at a stop"
    )

    @model_validator(mode="after")
    def _bounds_are_in_order(self) -> Self:
        if self.retry_first_s > self.retry_max_s:
            raise ValueError(
                f"retry_first_s is {self.retry_first_s:g}; it must not exceed retry_max_s, {self.retry_max_s:g}"
            )
        return self


class RelaySection(Section):
    """A relay, ``[relays.NAME]``: appends the packages of this log to another one, and speaks for its subscribers."""

    to: str = Field(
        default="", repr=False, description="the log of the site: sqlite:///FOLDER, postgresql:// or kafka://"
    )
    to_blobs: str = Field(default="", repr=False, description="its blob store; default: in the folder of a SQLite log")
    ledger: str = Field(
        default="",
        repr=False,
        description="where its position is kept: sqlite:FILE or postgresql://...; default: sqlite:relay-NAME.db",
    )
    follows: Names = Field(default=(), description="relay the packages of these publishers only; default: all")
    expect: bool = Field(default=False, description="accept unknown publishers in follows")
    include: Patterns = Field(default=(), description="relay only packages that touch these paths: patterns")
    exclude: Patterns = Field(default=(), description="not those that touch only these paths: patterns")
    editable: bool = Field(default=False, description="allow skipping packages, so that the site may differ")
    skip_commands: Offsets = Field(default=(), description="offsets of unreadable commands to skip")
    start: Start = Field(default="earliest", description="a new relay starts at: earliest, latest, or an offset")
    on_gap: OnGap = Field(
        default="fail", description="if the next package was trimmed: fail (and wait), or continue at the earliest"
    )
    parallel: int = Field(default=4, ge=1, le=PARALLEL_MAX, description="blobs copied in parallel")
    standby: bool = Field(default=False, description="wait while another process holds the name or the ledger")


class RetentionSection(Section):
    """What `run publisher` and `log trim` remove, packages included; every board removes more by itself."""

    older_than_days: float | None = Field(
        default=None, gt=0, le=DAYS_MAX, examples=[30.0], description="records older than this, in days"
    )
    above_mb: float | None = Field(
        default=None, gt=0, le=MB_MAX, examples=[1000.0], description="a topic's oldest records above this size, in MB"
    )
    gate: Literal["none", "subscribers", "archive"] = Field(
        default="none", description="keep: nothing, what a subscriber needs, or also what the archive needs"
    )
    gate_gone_days: float | None = Field(
        default=None,
        gt=0,
        le=DAYS_MAX,
        examples=[7.0],
        description="ignore the needs of a subscriber silent for this many days; default: until it is forgotten",
    )
    archive_tip: str = Field(default="", description="the file with the archive's position, for that gate")

    @model_validator(mode="after")
    def _an_archive_says_how_far_it_is(self) -> Self:
        if self.gate == "archive" and not self.archive_tip:
            raise ValueError('gate is "archive", but archive_tip does not name the file with the archive\'s position')
        return self

    def limits(self) -> Retention | None:
        """The same in the units of the log; None if nothing is set."""
        if self.older_than_days is None and self.above_mb is None:
            return None
        return Retention(
            older_than_s=None if self.older_than_days is None else self.older_than_days * 86_400,
            above_bytes=None if self.above_mb is None else int(self.above_mb * 1e6),
        )


class JanitorSection(Section):
    """What `run publisher` removes from the blob store, which no other log may then use."""

    enabled: bool = Field(default=False, description="remove blobs that no package on the log needs, every 12 hours")
    grace_hours: float = Field(
        default=GRACE_S / 3600,
        ge=GRACE_MIN_S / 3600,
        le=DAYS_MAX * 24,
        description="keep blobs stored within this many hours",
    )


class MemberSection(Section):
    """How `run` joins the cluster of the services that use this board; see topology.md."""

    instance: Annotated[str, AfterValidator(_instance)] = Field(
        default="", description="join the cluster under this id; every process needs its own. Default: do not join"
    )
    profile: Literal["default", "fast", "wan"] = Field(
        default="default", description="a lease of 10 s (default), 2.5 s (fast) or 30 s (wan)"
    )
    priority: int = Field(
        default=0, ge=-COUNT_MAX, le=COUNT_MAX, description="the member with the lowest one becomes the next leader"
    )
    tags: Annotated[Names, AfterValidator(_tags)] = Field(
        default=(), description="words by which others find this instance"
    )


class WorkerSection(Section):
    """How `run worker` runs jobs; see jobs.md. It joins the cluster as `[member]` says."""

    jobs: str = Field(default="", description="the jobs that it runs, a JobRegistry or a dict: module:name")
    slots: int = Field(default=10, ge=1, le=SLOTS_MAX, description="how many jobs run at a time")
    drain_s: float = Field(default=30.0, ge=0, le=HOUR_S, description="seconds that a stop waits for jobs that run")
    deny: Names = Field(default=(), description="topics, and patterns of topics, that it does not run after all")


class ArchiveSection(Section):
    """Where `callboard archive` writes."""

    place: str = Field(default="", repr=False, description="a folder, or s3://BUCKET/PREFIX")


class ConsoleSection(Section):
    """How `callboard console` is served, and who may see it; see console.md."""

    listen: str = Field(default="127.0.0.1:8477", description="where it listens: PORT or HOST:PORT")
    allow_actions: bool = Field(default=False, description="let operators act; otherwise the console is read-only")
    root_path: str = Field(default="", description="the path below which a proxy shows it, such as /callboard")
    tls_cert: str = Field(default="", description="serve HTTPS with this certificate, a file in PEM")
    tls_key: str = Field(default="", description="the file of its private key")
    users: str = Field(default="", description="the file of users with passwords; see `callboard console add-user`")
    trusted_header: str = Field(default="", description="the header in which a proxy names the user")
    role_header: str = Field(default="", description="the header in which it lists the user's groups, with commas")
    trusted_proxies: Names = Field(
        default=(), description="networks of proxies: nothing else may connect, and X-Forwarded-* is believed"
    )
    oidc_discovery: str = Field(default="", description="the discovery document of the OpenID provider, a URL")
    oidc_client_id: str = Field(default="", description="the console's client id at the provider")
    oidc_secret_file: str = Field(default="", description="the file with its client secret")
    oidc_name_claim: str = Field(default="preferred_username", description="the claim that names the user")
    oidc_role_claim: str = Field(default="groups", description="the claim that is compared with viewers and operators")
    viewers: Names = Field(default=(), description="values of that claim or role_header that may look; *: everybody")
    operators: Names = Field(default=(), description="values of it that may also act; *: everybody")
    session_secret_file: str = Field(
        default="", description="the file with the secret that signs sessions, if several processes serve one address"
    )


class LoggingSection(Section):
    """What is logged to standard error."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="the lowest level that `run` shows"
    )
    format: Literal["auto", "pretty", "json"] = Field(
        default="auto", description="auto is pretty on a terminal and json elsewhere"
    )


class Config(Section):
    """All settings."""

    log: str = Field(
        default=LOG,
        repr=False,
        description="the log: sqlite:///FOLDER (four slashes for an absolute path), postgresql:// or kafka://",
    )
    blobs: str = Field(
        default="",
        repr=False,
        description="the blob store, for large content: a folder, or s3://BUCKET; default: in a SQLite log's folder",
    )
    outbox: str = Field(
        default="",
        repr=False,
        description="the database with jobs that `run outbox` adds to the log: postgresql://...; see outbox.md",
    )
    job_context: Names = Field(
        default=(), description="names of structlog's context that go with the jobs that a service adds; see jobs.md"
    )
    prefix: str = Field(default=PREFIX, description="the prefix of the log's topic names")
    signing_key: str = Field(
        default="", description="the key that signs messages from here: NAME=FILE; the file holds the secret"
    )
    trusted_keys: Names = Field(
        default=(), description="accept only messages signed with one of these keys: NAME=FILE; include signing_key"
    )
    runtime: Literal["embedded", "processes"] = Field(
        default="embedded", description="where actors run: embedded in one process, or each in its own process"
    )
    publisher: PublisherSection = PublisherSection()
    subscriber: SubscriberSection = SubscriberSection()
    subscribers: dict[str, SubscriberSection] = {}
    publishers: dict[str, SourcesSection] = {}
    relays: dict[str, RelaySection] = {}
    retention: RetentionSection = RetentionSection()
    janitor: JanitorSection = JanitorSection()
    member: MemberSection = MemberSection()
    worker: WorkerSection = WorkerSection()
    archive: ArchiveSection = ArchiveSection()
    console: ConsoleSection = ConsoleSection()
    logging: LoggingSection = LoggingSection()

    def for_subscriber(self, name: str) -> SubscriberSection:
        """The settings of one subscriber: its own, else those of all subscribers.

        Raises:
            ConfigError: there is a section whose name differs only in case, or in ``-`` and ``_``.
        """
        _demand_same("subscriber", name, self.subscribers)
        return self.subscribers.get(name, self.subscriber)

    def for_relay(self, name: str) -> RelaySection:
        """The settings of one relay. Raises as ``for_subscriber``."""
        _demand_same("relay", name, self.relays)
        return self.relays.get(name, RelaySection())


def _demand_same(what: str, name: str, known: Iterable[str]) -> None:
    for other in known:
        if other != name and _alike(other) == _alike(name):
            raise ConfigError(
                f"the configuration has settings of {what} {other!r}, and this is {name!r}; give both the same name "
                "(one in a variable is always in small letters)"
            )
