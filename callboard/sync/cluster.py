"""The cluster without an event loop: looking at it, and being a member of it."""

from types import TracebackType

from callboard.backends.fence import Token
from callboard.board.member import leadership, member
from callboard.board.topology import topology
from callboard.sync.twin import InWith, Twin, iterating, making, on_loop, passing, waiting


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
    watch = iterating(topology.Topology.watch)


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


class Member(InWith[member.Member]):
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
    descriptor = on_loop(member.Member.descriptor)
    add_listener = on_loop(member.Member.add_listener)
    remove_listener = on_loop(member.Member.remove_listener)
    add_provider = on_loop(member.Member.add_provider)
    remove_provider = on_loop(member.Member.remove_provider)
    report = on_loop(member.Member.report)
    use_remote = on_loop(member.Member.use_remote)
    watch = iterating(member.Member.watch)
    leader_lease = making(LeaderLease, member.Member.leader_lease)
