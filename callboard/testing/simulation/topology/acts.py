"""What happens to a simulated cluster from outside, as data: a plan is a list of these acts, and can be shortened."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Act:
    """An event at a moment of virtual time."""

    at_s: float


@dataclass(frozen=True, slots=True)
class ToMember(Act):
    """Happens to the host or process of this instance."""

    instance: str


@dataclass(frozen=True, slots=True)
class Crash(ToMember):
    """The process dies. It is back after ``away_s``, if not None, and may remember its former incarnation."""

    away_s: float | None
    remembers: bool


@dataclass(frozen=True, slots=True)
class Leave(ToMember):
    """The member leaves; after ``away_s`` its process is ended, if it still runs, and started again."""

    away_s: float


@dataclass(frozen=True, slots=True)
class Kill(ToMember):
    """One of its actors dies."""

    role: str


@dataclass(frozen=True, slots=True)
class Pause(ToMember):
    """The whole process stops for a while, and does not notice."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Hang(ToMember):
    """The service hangs for a while, and shows no pulse; its agent runs."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Mute(ToMember):
    """The service acknowledges nothing for a while."""

    seconds: float


@dataclass(frozen=True, slots=True)
class CutOff(ToMember):
    """The host cannot reach the log for a while; running calls may still take effect."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Slow(ToMember):
    """Appends and reads take this long, for a while."""

    append_s: float
    read_s: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Repeat(ToMember):
    """The next record that the host appends is on the log again after ``late_s``."""

    late_s: float


@dataclass(frozen=True, slots=True)
class Twin(ToMember):
    """Another host starts a process with the id of this instance."""


@dataclass(frozen=True, slots=True)
class Command(ToMember):
    """An operator's command: to ``evict`` the member, ``drain`` it, ``undrain`` it or ``transfer`` the lead to it."""

    verb: str


@dataclass(frozen=True, slots=True)
class Describe(ToMember):
    """The service changes one of its properties."""

    colour: str


@dataclass(frozen=True, slots=True)
class Unlink(Act):
    """Two instances that are connected cannot reach each other, for a while, or for ever if None."""

    link: tuple[str, str]
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Rotate(Act):
    """The key of the connectors is changed: the new one is added everywhere, then put first, then the old one goes."""


@dataclass(frozen=True, slots=True)
class Configure(Act):
    """An operator changes the lease, and what follows from it."""

    lease_ms: int


@dataclass(frozen=True, slots=True)
class Freeze(Act):
    """An operator freezes the cluster for a while."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Outage(Act):
    """The log is unavailable to all for a while."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Jump(Act):
    """The clock of the log jumps."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Exchange(Act):
    """The log is replaced by a copy that has only this share of the records."""

    kept: float
