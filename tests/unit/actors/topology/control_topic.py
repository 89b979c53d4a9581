"""A control topic in memory, with a fold at its end, for tests that write to it by hand."""

from collections import Counter
from typing import Any

from callboard.actors.topology.cluster_fold import ClusterFold
from callboard.actors.topology.reducer import step
from callboard.actors.topology.snapshots import begun
from callboard.actors.topology.verdict import Verdict
from callboard.messages.reading import Unread
from callboard.messages.record import Record
from callboard.messages.topology.cluster_state import EMPTY, ClusterMember, ClusterSettings, ClusterState
from callboard.messages.topology.control_messages import (
    AckMessage,
    AdminMessage,
    DrainCommand,
    EvictCommand,
    Evidence,
    FreezeCommand,
    JoinMessage,
    LeaderMessage,
    LeaveMessage,
    PropertiesMessage,
    ProposeMessage,
    RenewMessage,
    SnapshotMessage,
    SuspectMessage,
    TransferCommand,
)
from callboard.messages.topology.member_event import MemberEvent
from callboard.messages.topology.reading import read
from callboard.messages.topology.state_hash import state_hash

LEASE_MS, GAP_MS = 10_000, 5_000

COMMANDS = {"evict": EvictCommand, "drain": DrainCommand, "transfer": TransferCommand}


def resumed(records: list[Record]) -> tuple[ClusterState, list[Verdict]]:
    """The state after these records, folded from the newest snapshot on, and the verdicts since then."""
    fold, verdicts = ClusterFold(), list[Verdict]()
    first = read(records[0]) if records else None
    previous = first.state.offset if isinstance(first, SnapshotMessage) else -1
    for record in records:
        if (begins := begun(record, previous)) is not None:
            fold, verdicts = begins, []
        else:
            verdicts.append(fold.see(record))
        previous = record.offset
    return fold.state, verdicts


class Topic:
    """The topic. An instance ``a`` speaks in the incarnation ``a1``, after ``restart`` in ``a2``, and so on.

    Each method appends a record 1 ms after the one before it and returns the verdict.
    """

    def __init__(self, *joined: str, founded: bool = True, **settings: Any) -> None:
        self.state, self.time_ms = EMPTY, 1_000_000
        self.appended: list[tuple[int, int, MemberEvent | Unread]] = []
        self.lives: Counter[str] = Counter()
        self.sent: Counter[str] = Counter()
        self.settings = ClusterSettings(cluster_id="c", **settings)
        if founded:
            assert self.configure(self.settings).accepted
        for who in joined:
            assert self.join(who).accepted

    def append(self, event: MemberEvent | Unread, after_ms: int = 1) -> Verdict:
        self.time_ms += after_ms
        self.appended.append((self.state.offset + 2, self.time_ms, event))  # every other offset is a gap
        self.state, verdict = step(self.state, *self.appended[-1])
        return verdict

    def by(self, who: str) -> dict[str, Any]:
        """The sender's fields of the next message."""
        life = f"{who}{self.lives[who] + 1}"
        self.sent[life] += 1
        return {"instance": who, "incarnation": life, "seq": self.sent[life]}

    def join(self, who: str, **said: Any) -> Verdict:
        return self.append(JoinMessage(**self.by(who), **{"read_to": self.state.offset} | said))

    def restart(self, who: str, **said: Any) -> Verdict:
        """Join again as the next incarnation, which by default knows its former one."""
        self.lives[who] += 1
        return self.join(who, **{"previous": f"{who}{self.lives[who]}"} | said)

    def renew(self, *everyone: str, after_ms: int = 1, **said: Any) -> Verdict:
        return [self.append(RenewMessage(**self.by(who), **said), after_ms) for who in everyone][-1]

    def passes(self, ms: int, *alive: str) -> None:
        """Time passes, in which only these renew, each twice a second."""
        for _ in range(ms // 500):
            self.renew(*alive, after_ms=0)
            self.time_ms += 500

    def leave(self, who: str, **said: Any) -> Verdict:
        return self.append(LeaveMessage(**self.by(who), **said))

    def put(self, who: str, *unset: str, **values: str) -> Verdict:
        return self.append(PropertiesMessage(**self.by(who), set=tuple(values.items()), unset=unset))

    def propose(self, who: str, *remove: str, base: int | None = None, **said: Any) -> Verdict:
        base = self.state.view.epoch if base is None else base
        return self.append(ProposeMessage(**self.by(who), base_epoch=base, remove=remove, **said))

    def propose_mute(self, who: str, *remove: str) -> Verdict:
        return self.propose(who, *remove, evidence=Evidence.NO_ACK)

    def ack(self, who: str, epoch: int | None = None, state_hash: str = "") -> Verdict:
        view = self.state.view
        epoch = view.epoch if epoch is None else epoch
        return self.append(AckMessage(**self.by(who), epoch=epoch, state_hash=state_hash or view.state_hash))

    def settle(self) -> None:
        for member in self.state.members:
            self.ack(member.instance)
        assert self.state.view.settled == self.state.view.epoch

    def suspect(self, who: str, target: str, life: str = "", *, withdrawn: bool = False) -> Verdict:
        life = life or f"{target}{self.lives[target] + 1}"
        said = SuspectMessage(**self.by(who), target=target, target_incarnation=life, withdrawn=withdrawn)
        return self.append(said)

    def lead(self, who: str, leader_epoch: int | None = None) -> Verdict:
        leader_epoch = self.state.view.leader_epoch if leader_epoch is None else leader_epoch
        return self.append(LeaderMessage(**self.by(who), leader_epoch=leader_epoch, payload=b"x"))

    def command(self, base: int | None = None, **command: Any) -> Verdict:
        """Administrate: ``command(transfer="a")``, ``command(drain="a")``, ``command(freeze=True)``."""
        (name, value), base = *command.items(), self.state.changed if base is None else base
        if name in COMMANDS and isinstance(value, str):
            value = COMMANDS[name](target=value)
        if name == "freeze":
            value = FreezeCommand(frozen=value)
        return self.append(AdminMessage(**self.by("ann"), base=base, author="ann", **{name: value}))

    def undrain(self, who: str) -> Verdict:
        return self.command(drain=DrainCommand(target=who, draining=False))

    def configure(self, settings: ClusterSettings) -> Verdict:
        return self.command(configure=settings)

    def snapshot(self, who: str, state: ClusterState | None = None) -> Verdict:
        state = state or self.state
        return self.append(SnapshotMessage(**self.by(who), state=state, state_hash=state_hash(state)))

    def repeat(self, back: int = 1) -> Verdict:
        """Append the same message again, as a retry does that was told nothing."""
        return self.append(self.appended[-back][2])

    def member(self, who: str) -> ClusterMember:
        member = self.state.member(who)
        assert member is not None
        return member

    @property
    def order(self) -> str:
        """The members' ids in their order: ``abc``."""
        return "".join(member.instance for member in self.state.members)

    @property
    def leader(self) -> str:
        return self.state.view.leader
