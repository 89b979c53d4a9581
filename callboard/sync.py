"""The board without an event loop: the same methods as ``callboard.Callboard``, but blocking.

    with Callboard("sqlite:///./board.db") as board:
        board.publisher("site").publish("./site")

The asynchronous board runs on an event loop in its own thread, so these objects may be used from several threads.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable, Iterator
from concurrent.futures import CancelledError
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Self, TypeVar, Unpack

from callboard.backends.fence import Token
from callboard.board import board, publisher, subscriber
from callboard.board.connect.subscriber_options import SubscriberOptions
from callboard.board.member import leadership, member
from callboard.board.member.options import MemberOptions
from callboard.board.read.events import BoardEvent
from callboard.board.topology import topology
from callboard.board.topology.changes import ClusterChange
from callboard.door.limits import TIMEOUT_S_MAX
from callboard.errors import ConfigError

if TYPE_CHECKING:
    from callboard.board.care.retention_gate import GatePolicy, RetentionGate

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)


class EventLoop:
    """An event loop in a thread, from ``start`` to ``close``."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._started = threading.Event()
        self._closing: asyncio.Event
        self._thread: threading.Thread

    def start(self) -> None:
        """Start the thread."""
        if self._loop is not None:
            raise ConfigError(board.ALREADY_OPEN)
        self._closing = asyncio.Event()
        self._started.clear()
        self._thread = threading.Thread(target=self._serve, name="callboard-sync", daemon=True)
        self._thread.start()
        self._started.wait()

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        """Run the coroutine on the loop and return its result. Interrupting the wait cancels the coroutine."""
        if self._loop is None:
            work.close()
            raise ConfigError("the board is not open; use it inside `with Callboard(...) as board:`")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def each(self, items: AsyncGenerator[R, None]) -> Iterator[R]:
        """What the generator yields; it ends when the loop is closed."""
        try:
            while (item := self.run(_next(items))) is not None:
                yield item
        except CancelledError:
            if self.is_open:
                raise
        finally:
            if self.is_open:
                self.run(items.aclose())

    @property
    def is_open(self) -> bool:
        """Whether it is between ``start`` and ``close``."""
        return self._loop is not None

    def close(self) -> None:
        """End the thread."""
        loop, self._loop = self._loop, None
        if loop is not None:
            loop.call_soon_threadsafe(self._closing.set)
            self._thread.join()

    def _serve(self) -> None:
        asyncio.run(self._until_closed())

    async def _until_closed(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._started.set()
        await self._closing.wait()


class Twin(Generic[A_co]):
    """An asynchronous object, and the loop that it runs on."""

    def __init__(self, loop: EventLoop, asynchronous: A_co) -> None:
        self._loop, self._asynchronous = loop, asynchronous

    def __repr__(self) -> str:
        return f"<sync {self._asynchronous!r}>"


def waiting(
    method: Callable[Concatenate[A, P], Coroutine[Any, Any, R]],
) -> Callable[Concatenate[Twin[A], P], R]:
    """The blocking form of an asynchronous method; signature and docstring stay the same."""

    @wraps(method)
    def wait(self: Twin[A], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._loop.run(method(self._asynchronous, *args, **kwargs))

    return wait


def passing(method: Callable[Concatenate[A, P], R]) -> Callable[Concatenate[Twin[A], P], R]:
    """The same method, for one that never blocks, and that any thread may call."""

    @wraps(method)
    def call(self: Twin[A], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return method(self._asynchronous, *args, **kwargs)

    return call


def on_loop(method: Callable[Concatenate[A, P], R]) -> Callable[Concatenate[Twin[A], P], R]:
    """The same method, called on the event loop."""

    @wraps(method)
    def call(self: Twin[A], /, *args: P.args, **kwargs: P.kwargs) -> R:
        async def run() -> R:
            return method(self._asynchronous, *args, **kwargs)

        return self._loop.run(run())

    return call


def given(make: Callable[P, A]) -> Callable[[Callable[[S, A], R]], Callable[Concatenate[S, P], R]]:
    """Have a method take the arguments of ``make``, and pass it the result of calling ``make`` with them."""

    def decorate(method: Callable[[S, A], R]) -> Callable[Concatenate[S, P], R]:
        @wraps(method)
        def call(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
            return method(self, make(*args, **kwargs))

        its = Parameter("self", Parameter.POSITIONAL_ONLY), *signature(make).parameters.values()
        call.__signature__ = Signature(its)  # type: ignore[attr-defined]  # for people: type checkers know it
        return call

    return decorate


class Publisher(Twin[publisher.Publisher]):
    """See ``callboard.board.publisher.Publisher``. Created by ``Callboard.publisher``."""

    start = waiting(publisher.Publisher.start)
    publish = waiting(publisher.Publisher.publish)
    delete = waiting(publisher.Publisher.delete)
    invalidate = waiting(publisher.Publisher.invalidate)
    test = waiting(publisher.Publisher.test)
    packages = waiting(publisher.Publisher.packages)
    log = waiting(publisher.Publisher.log)


class Subscriber(Twin[subscriber.Subscriber]):
    """See ``callboard.board.subscriber.Subscriber``. Created by ``Callboard.subscriber``; runs inside ``with``.

    If the subscriber ends because of an error, the body of ``with`` is not cancelled, as a thread cannot be. The next
    call raises the error; so does ``ended`` in another thread, and the end of the body.
    """

    start = waiting(subscriber.Subscriber.start)
    stop = waiting(subscriber.Subscriber.stop)
    caught_up = waiting(subscriber.Subscriber.caught_up)
    report = waiting(subscriber.Subscriber.report)
    ended = waiting(subscriber.Subscriber.ended)
    leave = waiting(subscriber.Subscriber.leave)
    until_ready = waiting(subscriber.Subscriber.until_ready)

    @property
    def ready(self) -> bool:
        """See ``callboard.board.subscriber.Subscriber.ready``."""
        return self._asynchronous.ready

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave(error)


class Topology(Twin[topology.Topology]):
    """See ``callboard.board.topology.topology.Topology``. Created by ``Callboard.topology``."""

    view = waiting(topology.Topology.view)
    history = waiting(topology.Topology.history)
    explain = waiting(topology.Topology.explain)
    evict = waiting(topology.Topology.evict)
    drain = waiting(topology.Topology.drain)
    transfer = waiting(topology.Topology.transfer)
    freeze = waiting(topology.Topology.freeze)
    configure = waiting(topology.Topology.configure)

    def watch(self, after: int | None = None) -> Iterator[ClusterChange]:
        """See ``callboard.board.topology.topology.Topology.watch``. Blocks the thread that iterates."""
        return self._loop.each(self._asynchronous.watch(after))


class LeaderLease(Twin[leadership.LeaderLease]):
    """See ``callboard.LeaderLease``. Created by ``Member.leader_lease``; used in ``with``.

    If the leadership is lost, the body is not cancelled, as a thread cannot be: it must ask ``Member.holds`` again and
    again, and end. The end of the body then raises ``LeadershipLost``.
    """

    acquire = waiting(leadership.LeaderLease.acquire)
    release = waiting(leadership.LeaderLease.release)

    def __enter__(self) -> Token:
        return self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release(error)


class Member(Twin[member.Member]):
    """See ``callboard.Member``. Created by ``Callboard.member``; runs inside ``with``.

    If the membership ends because of an error, the body of ``with`` is not cancelled; the end of the body raises it.
    """

    start = waiting(member.Member.start)
    stop = waiting(member.Member.stop)
    leave = waiting(member.Member.leave)
    ended = waiting(member.Member.ended)
    settled = waiting(member.Member.settled)
    set_properties = waiting(member.Member.set_properties)
    topology = passing(member.Member.topology)
    is_leader = passing(member.Member.is_leader)
    instances = passing(member.Member.instances)
    holds = passing(member.Member.holds)
    local_cluster = passing(member.Member.local_cluster)
    descriptor = passing(member.Member.descriptor)
    add_listener = on_loop(member.Member.add_listener)
    remove_listener = on_loop(member.Member.remove_listener)
    add_provider = on_loop(member.Member.add_provider)
    remove_provider = on_loop(member.Member.remove_provider)
    report = on_loop(member.Member.report)
    use_remote = on_loop(member.Member.use_remote)

    def watch(self, from_epoch: int | None = None) -> Iterator[ClusterChange]:
        """See ``callboard.Member.watch``. Blocks the thread that iterates."""
        return self._loop.each(self._asynchronous.watch(from_epoch))

    def leader_lease(self, timeout_s: float = TIMEOUT_S_MAX) -> LeaderLease:
        """See ``callboard.Member.leader_lease``."""
        return LeaderLease(self._loop, self._asynchronous.leader_lease(timeout_s))

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave(error)


class Callboard(Twin[board.Callboard]):
    """See ``callboard.Callboard``, which takes the same arguments. Use it inside ``with``."""

    @given(board.Callboard)
    def __init__(self, asynchronous: board.Callboard) -> None:
        super().__init__(EventLoop(), asynchronous)

    @classmethod
    @given(board.Callboard.from_config)
    def from_config(cls, asynchronous: board.Callboard) -> Self:
        """See ``callboard.Callboard.from_config``."""
        twin = cls.__new__(cls)
        vars(twin).update(_loop=EventLoop(), _asynchronous=asynchronous)
        return twin

    def publisher(self, name: str = "main") -> Publisher:
        """The publisher of this name."""
        return Publisher(self._loop, self._asynchronous.publisher(name))

    def subscriber(self, name: str, into: str | Path, **options: Unpack[SubscriberOptions]) -> Subscriber:
        """A subscriber that imports into ``into``; not yet started. See ``callboard.Callboard.subscriber``."""
        return Subscriber(self._loop, self._asynchronous.subscriber(name, into, **options))

    @property
    def topology(self) -> Topology:
        """The cluster on this log. See ``callboard.Callboard.topology``."""
        return Topology(self._loop, self._asynchronous.topology)

    def member(self, **options: Unpack[MemberOptions]) -> Member:
        """This process as a member of the cluster; not yet started. See ``callboard.Callboard.member``."""
        return Member(self._loop, self._asynchronous.member(**options))

    status = waiting(board.Callboard.status)
    queue = waiting(board.Callboard.queue)
    metrics = waiting(board.Callboard.metrics)
    queue_entry = waiting(board.Callboard.queue_entry)
    cohorts = waiting(board.Callboard.cohorts)
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

    def events(
        self, publisher: str = "", kinds: Iterable[str] = (), after: int | None = None, *, follow: bool = True
    ) -> Iterator[BoardEvent]:
        """See ``callboard.Callboard.events``. Blocks the thread that iterates."""
        return self._loop.each(self._asynchronous.events(publisher, kinds, after, follow=follow))

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

    def __enter__(self) -> Self:
        self._loop.start()
        try:
            self._loop.run(self._asynchronous.__aenter__())
        except BaseException:
            self._loop.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


async def _next(items: AsyncIterator[R]) -> R | None:
    return await anext(items, None)
