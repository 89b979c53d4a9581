"""What happens to a simulated fleet from outside, as data: a plan is a list of these acts, and can be shortened."""

from dataclasses import dataclass

from callboard.messages.distribution.topic_messages import Kind
from callboard.testing.simulation.engine.host import AGAIN_S


@dataclass(frozen=True, slots=True)
class Act:
    """An event at a moment of virtual time."""

    at_s: float


@dataclass(frozen=True, slots=True)
class Publish(Act):
    """A package. ``files`` are below ``path``, or the path itself, with their sizes; only an ADD has any.

    ``harm`` is the defect of its record: none, ``damaged`` content, or ``newer``, of an unknown schema. Every
    subscriber's hooks fail at it ``stubborn`` times, before its import and after.
    """

    number: int
    publisher: str
    kind: Kind
    path: str
    files: tuple[tuple[str, int], ...] = ()
    deep: bool = False
    harm: str = ""
    stubborn: int = 0
    recipients: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SendCommand(Act):
    """A command to a subscriber, about what its queue holds at that moment; ``twice`` repeats its record.

    It is addressed ``to`` the current repository, the ``former`` one, or, as by older versions, an ``unnamed`` one.
    """

    edge: str
    order: str
    publisher: str = ""
    twice: bool = False
    to: str = ""


@dataclass(frozen=True, slots=True)
class Kill(Act):
    """An actor dies, at any moment."""

    agent: str
    role: str


@dataclass(frozen=True, slots=True)
class Poison(Act):
    """An actor is asked a question that it crashes at."""

    agent: str
    role: str


@dataclass(frozen=True, slots=True)
class Lose(Act):
    """A subscriber's process dies with all its actors, or its host with everything not yet on disk. It is back after
    ``away_s``.
    """

    edge: str
    host: bool
    away_s: float = AGAIN_S


@dataclass(frozen=True, slots=True)
class CutOff(Act):
    """A subscriber's host cannot reach the log for a while, but keeps running."""

    edge: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Delay(Act):
    """What a subscriber appends takes this long to reach the log, from now on."""

    edge: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Suspend(Act):
    """A subscriber's process is suspended for a while, without noticing."""

    edge: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Restart(Act):
    """A subscriber is stopped cleanly, within a time limit, and started again."""

    edge: str
    drain_s: float


@dataclass(frozen=True, slots=True)
class Renew(Act):
    """A subscriber starts over under its name: ``disk lost`` with its host, or ``position reset`` by an operator, who
    keeps the content.
    """

    edge: str
    how: str


@dataclass(frozen=True, slots=True)
class Outage(Act):
    """The log is unavailable for a while, as in a fail-over."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Trim(Act):
    """Old packages are removed from the log; ``careless`` ignores subscribers that have not read them."""

    careless: bool


@dataclass(frozen=True, slots=True)
class Exchange(Act):
    """The log is exchanged: ``replaced`` by an empty one while everything runs; or ``set back`` to a copy of
    ``back_s`` seconds ago, with everything stopped.
    """

    how: str
    back_s: float


@dataclass(frozen=True, slots=True)
class Skew(Act):
    """The wall clock of an agent's host jumps, and then runs at another rate."""

    agent: str
    jump_s: float
    rate: float


@dataclass(frozen=True, slots=True)
class Spoil(Act):
    """All present blobs are ``missing`` or ``corrupt`` for a while."""

    how: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Look(Act):
    """A user looks at a publisher's queues."""

    publisher: str
