"""What happens to a simulated fleet from outside, as data: a plan is a list of these, and can be made shorter."""

from dataclasses import dataclass

from callboard.messages.distribution.topic_messages import Kind
from callboard.testing.simulation.engine.host import AGAIN_S


@dataclass(frozen=True, slots=True)
class Act:
    """Something that happens at a moment of virtual time."""

    at_s: float


@dataclass(frozen=True, slots=True)
class Publish(Act):
    """A package. ``files`` are below ``path``, or the path itself, with their sizes; none for anything but ADD.

    ``harm`` is what is wrong with its record: nothing, ``damaged`` content, or ``newer``, of a schema not known yet.
    Every subscriber's hooks fail at it ``stubborn`` times, before its import and after.
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
    """A command to a subscriber, about what its queue holds at that moment; ``twice`` if its record is repeated.

    It is ``to`` the repository there is, to the ``former`` one, or, as older versions give it, to one ``unnamed``.
    """

    edge: str
    order: str
    publisher: str = ""
    twice: bool = False
    to: str = ""


@dataclass(frozen=True, slots=True)
class Kill(Act):
    """An actor dies, whatever it is at."""

    agent: str
    role: str


@dataclass(frozen=True, slots=True)
class Poison(Act):
    """Somebody asks an actor what it crashes at."""

    agent: str
    role: str


@dataclass(frozen=True, slots=True)
class Lose(Act):
    """A subscriber's process dies with all its actors, or its host with all that was not on the disk yet. It is back
    after ``away_s``.
    """

    edge: str
    host: bool
    away_s: float = AGAIN_S


@dataclass(frozen=True, slots=True)
class CutOff(Act):
    """A subscriber's host does not reach the log for a while, and goes on."""

    edge: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Suspend(Act):
    """A subscriber's process stands still for a while, without knowing."""

    edge: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Restart(Act):
    """A subscriber is stopped in order, with so much patience, and started again."""

    edge: str
    drain_s: float


@dataclass(frozen=True, slots=True)
class Renew(Act):
    """A subscriber begins anew under its name: ``disk lost`` with its host; or ``position reset`` by an operator, which
    leaves the content.
    """

    edge: str
    how: str


@dataclass(frozen=True, slots=True)
class Outage(Act):
    """The log cannot be used for a while, as in a fail-over."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Trim(Act):
    """Old packages are removed from the log; ``careless`` is regardless of who has not read them."""

    careless: bool


@dataclass(frozen=True, slots=True)
class Exchange(Act):
    """Another log is put in place: ``replaced`` by an empty one while everybody runs; or ``set back`` to a copy of
    ``back_s`` seconds ago, with everybody stopped.
    """

    how: str
    back_s: float


@dataclass(frozen=True, slots=True)
class Skew(Act):
    """The wall clock of an agent's host jumps, and runs at another rate from then on."""

    agent: str
    jump_s: float
    rate: float


@dataclass(frozen=True, slots=True)
class Spoil(Act):
    """The blobs there are are ``missing`` or ``corrupt`` for a while."""

    how: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Look(Act):
    """Somebody looks at a publisher's queues."""

    publisher: str
