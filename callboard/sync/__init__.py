"""The board without an event loop: the same methods as ``callboard.Callboard``, but blocking.

    with Callboard("sqlite:///./board.db") as board:
        board.publisher("site").publish("./site")

The asynchronous board runs on an event loop in its own thread, so these objects may be used from several threads.
"""

from types import TracebackType
from typing import TYPE_CHECKING, Self

from callboard.board import board, publisher, subscriber
from callboard.sync.agents import Agent
from callboard.sync.cluster import LeaderLease, Member, Topology
from callboard.sync.entities import Entities, Projected, Reacting
from callboard.sync.events import BoardEvents, Listener
from callboard.sync.jobs import BoardJobs, Worker
from callboard.sync.twin import EventLoop, InWith, Twin, WithLoop, given, iterating, making, starting, waiting

if TYPE_CHECKING:
    from callboard.board.care.retention_gate import GatePolicy, RetentionGate

__all__ = [
    "Agent", "BoardEvents", "BoardJobs", "Callboard", "Entities", "LeaderLease", "Listener", "Member", "Projected",
    "Publisher", "Reacting", "Subscriber", "Topology", "Worker",
]  # fmt: skip


class Publisher(Twin[publisher.Publisher]):
    """See ``callboard.board.publisher.Publisher``. Created by ``Callboard.publisher``."""

    start = starting(Agent, publisher.Publisher.start)
    publish = waiting(publisher.Publisher.publish)
    delete = waiting(publisher.Publisher.delete)
    invalidate = waiting(publisher.Publisher.invalidate)
    test = waiting(publisher.Publisher.test)
    packages = waiting(publisher.Publisher.packages)
    log = waiting(publisher.Publisher.log)

    @property
    def name(self) -> str:
        """Its name."""
        return self._asynchronous.name


class Subscriber(InWith[subscriber.Subscriber]):
    """See ``callboard.board.subscriber.Subscriber``. Created by ``Callboard.subscriber``; runs inside ``with``.

    If the subscriber ends because of an error, the body of ``with`` is not cancelled, as a thread cannot be. The next
    call raises the error; so does ``ended`` in another thread, and the end of the body.
    """

    start = starting(Agent, subscriber.Subscriber.start)
    stop = waiting(subscriber.Subscriber.stop)
    caught_up = waiting(subscriber.Subscriber.caught_up)
    report = waiting(subscriber.Subscriber.report)
    ended = waiting(subscriber.Subscriber.ended)
    leave = waiting(subscriber.Subscriber.leave)
    until_ready = waiting(subscriber.Subscriber.until_ready)

    @property
    def name(self) -> str:
        """Its name."""
        return self._asynchronous.name

    @property
    def ready(self) -> bool:
        """See ``callboard.board.subscriber.Subscriber.ready``."""
        return self._asynchronous.ready


class Callboard(WithLoop[board.Callboard]):
    """See ``callboard.Callboard``, which takes the same arguments. Use it inside ``with``.

    It has no ``relay``, whose two boards share an event loop: run one with ``callboard run relay``.
    """

    @given(board.Callboard)
    def __init__(self, asynchronous: board.Callboard) -> None:
        super().__init__(EventLoop(), asynchronous)

    @classmethod
    @given(board.Callboard.from_config)
    def from_config(cls, asynchronous: board.Callboard) -> Self:
        """See ``callboard.Callboard.from_config``."""
        return cls.over(EventLoop(), asynchronous)

    @classmethod
    def over(cls, loop: EventLoop, asynchronous: board.Callboard) -> Self:
        """The blocking form of a board on this loop."""
        twin = cls.__new__(cls)
        vars(twin).update(_loop=loop, _asynchronous=asynchronous)
        return twin

    publisher = making(Publisher, board.Callboard.publisher)
    subscriber = making(Subscriber, board.Callboard.subscriber)
    member = making(Member, board.Callboard.member)
    entities = making(Entities, board.Callboard.entities)
    projection = making(Projected, board.Callboard.projection)
    reaction = making(Reacting, board.Callboard.reaction)
    start = starting(Agent, board.Callboard.start)

    @property
    def topology(self) -> Topology:
        """The cluster on this log. See ``callboard.Callboard.topology``."""
        return Topology(self._loop, self._asynchronous.topology)

    @property
    def jobs(self) -> BoardJobs:
        """The jobs on this log, and workers that run them. See ``callboard.Callboard.jobs``."""
        return BoardJobs(self._loop, self._asynchronous.jobs)

    @property
    def events(self) -> BoardEvents:
        """The events on this log. See ``callboard.Callboard.events``."""
        return BoardEvents(self._loop, self._asynchronous.events)

    status = waiting(board.Callboard.status)
    site_status = waiting(board.Callboard.site_status)
    queue = waiting(board.Callboard.queue)
    metrics = waiting(board.Callboard.metrics)
    queue_entry = waiting(board.Callboard.queue_entry)
    cohorts = waiting(board.Callboard.cohorts)
    folds = waiting(board.Callboard.folds)
    replay = iterating(board.Callboard.replay)
    errors = waiting(board.Callboard.errors)
    forget_subscriber = waiting(board.Callboard.forget_subscriber)
    clear = waiting(board.Callboard.clear)
    clear_all = waiting(board.Callboard.clear_all)
    retry = waiting(board.Callboard.retry)
    skip = waiting(board.Callboard.skip)
    pause = waiting(board.Callboard.pause)
    resume = waiting(board.Callboard.resume)
    throttle = waiting(board.Callboard.throttle)
    trim = waiting(board.Callboard.trim)
    resend = waiting(board.Callboard.resend)
    explain = waiting(board.Callboard.explain)
    list_content = waiting(board.Callboard.list_content)
    verify = waiting(board.Callboard.verify)
    repair = waiting(board.Callboard.repair)
    collect_blobs = waiting(board.Callboard.collect_blobs)
    ensure_topics = waiting(board.Callboard.ensure_topics)

    def retention_gate(self, policy: "GatePolicy") -> "RetentionGate":
        """See ``callboard.Callboard.retention_gate``."""
        return self._asynchronous.retention_gate(policy)

    def close(self) -> None:
        """See ``callboard.Callboard.close``. The end of ``with`` calls it."""
        if self._loop.is_open:
            try:
                self._loop.run(self._asynchronous.close())
            finally:
                self._loop.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
