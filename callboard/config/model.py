"""The settings: their names, what they mean, their defaults and bounds."""

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
from callboard.door.rules import Unfit, pattern
from callboard.errors import ConfigError, RequestRefused
from callboard.messages.distribution.package_event import EVENTS, KINDS
from callboard.messages.distribution.topic_messages import ANNOUNCE_S_MAX
from callboard.messages.topics import PREFIX


def _names(value: Any) -> Any:
    """A list may also be written as one text with commas, as in an environment variable."""
    return tuple(name.strip() for name in value.split(",") if name.strip()) if isinstance(value, str) else value


def _pattern(value: str) -> str:
    try:
        return pattern(value)
    except Unfit as unfit:
        raise ValueError(f"each should be {unfit.expected}") from None


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
    if strangers := sorted(set(names).difference(KINDS)):
        raise ValueError(f"{quoted(strangers[0])} is no event; choose among {', '.join(KINDS)}")
    return names


def _on_gap(value: Any) -> Any:
    if value == "reseed":
        raise ValueError(NO_RESEED)
    return value


OnGap = Annotated[Literal["fail", "earliest"], BeforeValidator(_on_gap)]
Kinds = Annotated[Names, AfterValidator(_kinds)]
Start = Annotated[Literal["earliest", "latest"] | int, BeforeValidator(_start)]


class Section(BaseModel):
    """Settings that belong together; frozen, and nothing but what is named here."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, hide_input_in_errors=True)


class PublisherSection(Section):
    """What ships content."""

    name: str = Field(default="main", description="the name that subscribers follow")
    source: str = Field(default="", description="the folder that `run publisher` watches, or takes requests for")
    include: Patterns = Field(default=(), description="patterns of what is shipped, such as *.html or /blog/**")
    exclude: Patterns = Field(default=EXCLUDED, description="patterns of what is never shipped")
    max_package_mb: float | None = Field(
        default=None, gt=0, le=MB_MAX, examples=[500.0], description="what the files of one package may have together"
    )
    throttle_by: Literal["none", "editable", "all"] = Field(
        default="none", description="whose backlog holds requests up: that of none, of editable subscribers, or of all"
    )
    throttle_for: Names = Field(default=(), description="subscribers whose backlog does so in any case")
    throttle_at: int = Field(
        default=1000, ge=1, le=OFFSET_MAX, description="packages of backlog up to which nothing is held up"
    )
    throttle_max_s: float = Field(
        default=20.0,
        gt=0,
        le=THROTTLE_S_MAX,
        description="seconds that a request is held up from twice as many packages on",
    )
    events: Kinds = Field(
        default=EVENTS, description="what `run publisher` tells: created, queued, distributed, imported, failed"
    )


def _at(place: str) -> str:
    try:
        return check_path(place)
    except RequestRefused as error:
        raise ValueError(str(error)) from error


class SourcesSection(Section):
    """What is known of one publisher, by its name: ``[publishers.NAME]``."""

    sources: dict[str, Annotated[str, AfterValidator(_at)]] = Field(
        default={}, description="where each folder goes at subscribers"
    )


class SubscriberSection(Section):
    """What imports content. ``[subscribers.NAME]`` has the same keys, for one subscriber alone."""

    into: str = Field(
        default="",
        repr=False,
        description="where content goes: a folder, sqlite:FILE, or postgresql://...?repository=NAME",
    )
    follows: Names = Field(default=(), description="publishers whose packages are imported; none named means all")
    expect: bool = Field(
        default=False,
        description="whether publishers it follows, or its golden subscriber, may be unknown when it starts",
    )
    include: Patterns = Field(default=(), description="patterns of what is imported, such as *.html or /blog/**")
    exclude: Patterns = Field(default=(), description="patterns of what is not, and stays as it is")
    editable: bool = Field(default=False, description="whether its queue may be cleared, so that it may differ")
    golden: str = Field(default="", description="the subscriber whose verdict on a package is waited for; none is none")
    skip_commands: Offsets = Field(default=(), description="offsets of unreadable commands, which are passed over")
    max_retries: int = Field(
        default=-1, ge=-1, le=RETRIES_MAX, description="retries before a package is given up; -1 is no limit"
    )
    on_give_up: Literal["skip", "quarantine", "block"] = Field(
        default="skip",
        description="then: skip (to the error queue), quarantine (set it aside with what touches its paths), or block",
    )
    coalesce: bool = Field(
        default=True, description="leave out packages fully superseded by a later one of the same batch"
    )
    parallel: int = Field(default=4, ge=1, le=PARALLEL_MAX, description="packages that are downloaded at the same time")
    start: Start = Field(default="earliest", description="where a new one begins: earliest, latest, or an offset")
    on_gap: OnGap = Field(
        default="fail", description="if the next package was trimmed away: fail (and wait), or go on at the earliest"
    )
    on_undecodable: Literal["block", "dead_letter"] = Field(
        default="block", description="at a record that cannot be read: block, or dead_letter (to the error queue)"
    )
    announce_interval_s: float = Field(
        default=10.0, ge=ANNOUNCE_S_MIN, le=ANNOUNCE_S_MAX, description="seconds between announcements"
    )
    retry_first_s: float = Field(default=1.0, gt=0, le=HOUR_S, description="seconds to the first retry; then doubled")
    retry_max_s: float = Field(default=300.0, gt=0, le=DAY_S, description="seconds between two retries, at most")
    before_import: str = Field(default="", description="called before content changes, as module:function")
    after_import: str = Field(default="", description="called after content has changed, as module:function")
    on_invalidate: str = Field(default="", description="called for paths that are invalidated, as module:function")
    hook_timeout_s: float = Field(default=60.0, gt=0, le=DAY_S, description="a call that takes longer has failed")
    hook_max_retries: int = Field(
        default=10, ge=-1, le=RETRIES_MAX, description="retries before an after_import call is given up; -1 is no limit"
    )
    ready_idle_s: float = Field(default=10.0, ge=0, le=HOUR_S, description="ready if nothing came for so long")
    ready_max_age_s: float = Field(
        default=120.0, ge=0, le=DAY_S, description="ready if it imports a package that is younger than this, in seconds"
    )
    ready_force_s: float = Field(default=300.0, ge=0, le=DAY_S, description="ready so long after the start in any case")
    standby: bool = Field(default=False, description="wait while another one has the name or the repository")
    stop_drain_s: float = Field(
        default=30.0, ge=0, le=HOUR_S, description="what a running import gets to finish at a stop"
    )

    @model_validator(mode="after")
    def _bounds_are_in_order(self) -> Self:
        if self.retry_first_s > self.retry_max_s:
            raise ValueError(
                f"retry_first_s is {self.retry_first_s:g}, but should not be above retry_max_s, {self.retry_max_s:g}"
            )
        return self


class RetentionSection(Section):
    """What `run publisher` and `log trim` remove, packages among it, besides what every board removes by itself."""

    older_than_days: float | None = Field(
        default=None, gt=0, le=DAYS_MAX, examples=[30.0], description="records older than this, in days"
    )
    above_mb: float | None = Field(
        default=None, gt=0, le=MB_MAX, examples=[1000.0], description="a topic's oldest records above this size, in MB"
    )
    gate: Literal["none", "subscribers", "archive"] = Field(
        default="none", description="what is kept nevertheless: what a subscriber needs, or it or the archive"
    )
    gate_gone_days: float | None = Field(
        default=None,
        gt=0,
        le=DAYS_MAX,
        examples=[7.0],
        description="a subscriber silent for so long needs nothing; else forget it",
    )
    archive_tip: str = Field(default="", description="the file that says how far the archive is, for that gate")

    @model_validator(mode="after")
    def _an_archive_says_how_far_it_is(self) -> Self:
        if self.gate == "archive" and not self.archive_tip:
            raise ValueError('gate is "archive", but archive_tip does not name the file that says how far it is')
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
    """What `run publisher` removes from the blob store, which then nothing but this log may refer to."""

    enabled: bool = Field(default=False, description="remove blobs that no package on the log needs, every 12 hours")
    grace_hours: float = Field(
        default=GRACE_S / 3600,
        ge=GRACE_MIN_S / 3600,
        le=DAYS_MAX * 24,
        description="what was put so recently is spared",
    )


class ArchiveSection(Section):
    """Where `callboard archive` keeps what the log will not keep for ever."""

    place: str = Field(default="", repr=False, description="a folder, or s3://BUCKET/PREFIX")


class LoggingSection(Section):
    """What the program says about itself, on standard error."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="the least important lines that `run` shows"
    )
    format: Literal["auto", "pretty", "json"] = Field(
        default="auto", description="auto is pretty on a terminal and json elsewhere"
    )


class Config(Section):
    """All settings."""

    log: str = Field(
        default=LOG,
        repr=False,
        description="the log: sqlite:///FOLDER (a fourth slash begins an absolute path), postgresql:// or kafka://",
    )
    blobs: str = Field(
        default="",
        repr=False,
        description="where large content goes: a folder, or s3://BUCKET; none is a folder in a SQLite log's",
    )
    prefix: str = Field(default=PREFIX, description="what the names of the log's topics begin with")
    signing_key: str = Field(
        default="", description="signs what is said here: NAME=FILE, the secret being in the file; see trusted_keys"
    )
    trusted_keys: Names = Field(
        default=(), description="only what is signed with one of these counts: NAME=FILE, signing_key among them"
    )
    runtime: Literal["embedded", "processes"] = Field(
        default="embedded", description="where actors run: embedded in one process, or in processes of their own"
    )
    publisher: PublisherSection = PublisherSection()
    subscriber: SubscriberSection = SubscriberSection()
    subscribers: dict[str, SubscriberSection] = {}
    publishers: dict[str, SourcesSection] = {}
    retention: RetentionSection = RetentionSection()
    janitor: JanitorSection = JanitorSection()
    archive: ArchiveSection = ArchiveSection()
    logging: LoggingSection = LoggingSection()

    def for_subscriber(self, name: str) -> SubscriberSection:
        """The settings of one subscriber: its own, else those of all subscribers.

        Raises:
            ConfigError: there is a section whose name differs only in case, or in ``-`` and ``_``.
        """
        for other in self.subscribers:
            if other != name and _alike(other) == _alike(name):
                raise ConfigError(
                    f"the configuration has settings of subscriber {other!r}, and this is {name!r}; give both the same "
                    "name (one in a variable is always in small letters)"
                )
        return self.subscribers.get(name, self.subscriber)
