"""A subscriber's durable state, written by its repository in the transaction that changes the content."""

from dataclasses import dataclass

from callboard.messages.distribution.topic_messages import (
    CommandMessage,
    CommandResultMessage,
    Kind,
    PackageStatusMessage,
    Pairs,
)
from callboard.messages.event import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class Watermark(Event):
    """Clears the packages of ``publisher`` after the offset ``after`` and up to ``offset``; the rest is the command's.

    ``packages`` counts those removed so far.
    """

    publisher: str
    offset: int
    author: str = ""
    reason: str = ""
    command_id: str = ""
    command_offset: int = -1
    packages: int = 0
    after: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldPackage(Event):
    """A quarantined package: it failed, or it touches the same content as the held package at ``waits_for``.

    One that is ``due`` is tried (again); ``attempts`` is stored before each try.
    """

    offset: int
    publisher: str
    package_id: str
    kind: Kind
    paths: tuple[str, ...] = ()
    deep_paths: tuple[str, ...] = ()
    attempts: int = 0
    reason: str = ""
    waits_for: int = -1
    time_ns: int = 0
    due: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class HookDue(Event):
    """A package whose content is imported and whose post-import hook has not succeeded yet.

    ``attempts`` is stored before each call, so that a hook that kills its process is counted too. ``told`` means that
    it was given up before, and that this was reported to the publisher. ``traceparent`` is the span of the import.
    """

    offset: int
    publisher: str
    package_id: str
    kind: Kind
    paths: tuple[str, ...] = ()
    deep_paths: tuple[str, ...] = ()
    attempts: int = 0
    last_error: str = ""
    metadata: Pairs = ()
    told: bool = False
    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: int = 0
    changes_ref: str = ""
    traceparent: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenUp(Event):
    """A package that was given up for good. It stays in an error queue until it is dismissed."""

    offset: int
    publisher: str = ""
    package_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger(Event):
    """One subscriber's state.

    ``offset`` is the last processed offset of the package log ``log_id``, and -1 before the first.
    ``attempts`` counts the tries at ``attempt_offset``; it is stored before each try, so that a package
    that kills its importer is counted too. ``outbox`` and ``results`` hold the statuses and command results
    that are not yet known to be on the log. ``record_id`` is the id and the append time of the record at ``offset``,
    and reveals an older copy of the log; ``command_time_ns``, the append time of the record at ``command_offset``, does
    so for the command topic. ``command_ids`` are the last accepted commands, each as ``ISSUED_NS/ID``;
    ``command_horizon_ns`` is the newest issue time among those already forgotten. ``without_golden`` is the offset
    of the package to import even without the golden subscriber's verdict. Packages up to ``apart_until`` are
    imported one at a time, because importing them as a batch failed or never finished. ``given_up`` are the latest
    packages given up and not dismissed, ``failed_hooks`` the latest such hooks. ``void_commands`` are in force for
    another repository of this name, not here. A relay's ledger also has the package log of its site, up to where that
    was searched for relayed packages (``site_next``), the last one found, by its offset on the log that the relay
    reads, and the last package that the whole site has processed (``site_offset``).
    """

    instance: str
    subscriber: str = ""
    log_id: str = ""
    positioned: bool = False
    offset: int = -1
    attempt_offset: int = -1
    attempts: int = 0
    last_error: str = ""
    clears: tuple[Watermark, ...] = ()
    command_log_id: str = ""
    command_offset: int = -1
    cleared: int = 0
    imported: int = 0
    next_sequence: int = 1
    outbox: tuple[PackageStatusMessage, ...] = ()
    record_id: str = ""
    paused_by: str = ""
    pause_reason: str = ""
    throttle_per_min: int = 0
    held: tuple[HeldPackage, ...] = ()
    results: tuple[CommandResultMessage, ...] = ()
    hooks: tuple[HookDue, ...] = ()
    superseded: int = 0
    skipped: int = 0
    command_ids: tuple[str, ...] = ()
    command_horizon_ns: int = 0
    without_golden: int = -1
    apart_until: int = -1
    given_up: tuple[GivenUp, ...] = ()
    failed_hooks: tuple[HookDue, ...] = ()
    command_time_ns: int = 0
    void_commands: tuple[CommandMessage, ...] = ()
    site_log_id: str = ""
    site_next: int = -1
    site_relayed: int = -1
    site_offset: int = -1
