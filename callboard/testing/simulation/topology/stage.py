"""Carries out the acts of a plan in a cluster, as hosts, networks and operators do."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from callboard.messages.event import replaced
from callboard.messages.headers import new_record
from callboard.messages.topology.cluster_state import ClusterSettings
from callboard.messages.topology.control_messages import (
    AdminMessage,
    DrainCommand,
    EvictCommand,
    FreezeCommand,
    TransferCommand,
)
from callboard.messages.topology.member_mail import MemberProblem
from callboard.testing.simulation.topology.acts import (
    Act,
    Command,
    Configure,
    Crash,
    CutOff,
    Describe,
    Exchange,
    Freeze,
    Hang,
    Jump,
    Kill,
    Leave,
    Mute,
    Outage,
    Pause,
    Repeat,
    Slow,
    Twin,
)
from callboard.testing.simulation.topology.cluster import Cluster, FaultyWorld, Member
from callboard.testing.simulation.topology.hasty import Hasty
from callboard.testing.simulation.topology.plan import ClusterPlan, PlannedMember
from callboard.testing.simulation.topology.witness import Witness

TROUBLE_S = 5.0
"""Twice as long as it takes to say again what was not read back."""

TWIN_LIVES = 100
"""More than a host has: the incarnations of its twin are counted from here."""

AGAIN_S = 1.0
"""How long it takes until a process that has ended for good is started again."""


@dataclass(slots=True)
class Host:
    """A host: what it is like, its way to the log, and the process that runs on it, if any."""

    its: PlannedMember
    world: FaultyWorld
    member: Member | None = None
    former: str = ""
    lives: int = 0
    muted: bool = False
    is_leaving: bool = False
    hangs: bool = False
    awake_s: float = 0.0
    """Its process is suspended until then."""
    is_gone: bool = False
    """Whether it never comes back."""

    @property
    def process(self) -> Member | None:
        """The process whose connectors are open: those of one that leaves are closed."""
        return None if self.is_leaving else self.member


class Stage:
    """Carries out acts."""

    def __init__(self, cluster: Cluster, plan: ClusterPlan, witness: Witness) -> None:
        self.cluster, self.plan, self.witness = cluster, plan, witness
        self.count = Counter[str]()
        self._later: list[tuple[float, int, Callable[[], None]]] = []
        self._numbered = self._commands = 0
        for topic in plan.streams:
            cluster.ensure(topic)
        self.hosts = {each.instance: Host(each, cluster.way_to_log()) for each in plan.members}
        for host in self.hosts.values():
            host.world.skew_s = host.its.skew_s
            self._start(host)
        hasty = Random(f"hasty/{plan.seed}")  # noqa: S311  # reproducible, not secret
        self.hasty = Hasty(cluster, witness, hasty) if plan.hasty else None

    def after(self, seconds: float, then: Callable[[], None]) -> None:
        """Do this later."""
        self._numbered += 1
        self._later.append((self.witness.now_s + seconds, self._numbered, then))

    def tick(self) -> None:
        """Do what is due, and start again what has ended."""
        due = [each for each in self._later if each[0] <= self.witness.now_s]
        self._later = [each for each in self._later if each not in due]
        for _, _, then in sorted(due, key=lambda each: each[:2]):
            then()
        for host in self.hosts.values():
            problem = host.member.problem if host.member and not host.is_leaving else None
            if problem is not None and problem.is_final:
                self.count[f"ended: {problem}"] += 1
                evicted = host.member if problem is MemberProblem.EVICTED else None  # the process goes on
                former = "" if evicted else host.former
                self._end(host)
                host.is_gone = problem is MemberProblem.DUPLICATE_ID and self._runs(host.its.instance)
                if not host.is_gone:
                    self.after(AGAIN_S, partial(self._start, host, former, evicted))
        if self.hasty is not None:
            self.hasty.tick()

    def do(self, act: Act) -> None:
        """Carry out an act."""
        self.count[type(act).__name__] += 1
        self.cluster.simulation.note(str(act))
        match act:
            case Freeze(seconds=seconds):
                self._command(freeze=FreezeCommand(frozen=True))
                self.after(seconds, lambda: self._command(freeze=FreezeCommand(frozen=False)))
            case Configure(lease_ms=lease_ms):
                if (its := self.witness.state.settings) is not None:
                    new = replaced(its, lease_ms=lease_ms, gap_ms=lease_ms // 2, ack_deadline_ms=lease_ms)
                    self._command(configure=new)
            case Outage(seconds=seconds):
                for host in self.hosts.values():
                    self._cut(host, seconds)
            case Jump(seconds=seconds):
                self.cluster.jump_s += seconds
            case Exchange(kept=kept):
                log_id = f"copy-of-{self.witness.log_id}"
                self.cluster.replace_log(kept, log_id)
                for host in self.hosts.values():
                    host.world.move_to(self.cluster.log)
                self.witness.replaced(log_id)
            case Command(instance=instance, verb=verb):
                self._command(**_command(verb, instance))
            case _:
                self._to_host(self.hosts[act.instance], act)  # type: ignore[attr-defined]  # all others have one

    def _to_host(self, host: Host, act: Act) -> None:
        self._trouble(host, getattr(act, "seconds", 0.0))
        match act:
            case CutOff(seconds=seconds):
                self._cut(host, seconds)
            case Slow(append_s=append_s, read_s=read_s, seconds=seconds):
                self._trouble(host, seconds + append_s + read_s)  # the last slow call may begin as late as that
                host.world.append_s, host.world.read_s = append_s, read_s
                slow, it = self.witness.slow, host.its.instance
                slow[it] = max(slow.get(it, 0.0), self.witness.now_s + seconds + append_s)
                self.after(seconds, partial(self._fast, host))
            case Twin(instance=instance):
                twin = Host(host.its, self.cluster.way_to_log(), lives=TWIN_LIVES)
                self._start(self.hosts.setdefault(f"twin of {instance}", twin))
            case Repeat(late_s=late_s):
                host.world.repeats_after_s.append(late_s)
            case Mute(seconds=seconds):
                self._mute(host, muted=True)
                self.after(seconds, partial(self._mute, host, muted=False))
            case _ if host.member is not None:
                self._to_process(host, host.member, act)

    def _to_process(self, host: Host, member: Member, act: Act) -> None:
        match act:
            case Crash(away_s=away_s, remembers=remembers):
                host.is_gone = away_s is None and sum(not each.is_gone for each in self.hosts.values()) > 1
                self._end(host)
                if not host.is_gone:
                    self.after(away_s or 0.0, partial(self._start, host, host.former if remembers else ""))
            case Leave(away_s=away_s) if not host.is_leaving:
                host.is_leaving = True
                self.cluster.started.remove(member)  # it has stopped acting
                member.start_leaving()
                self.after(away_s, partial(self._start, host, host.former))
            case Kill(role=role):
                member.kill(role)
            case Describe(colour=colour) if not host.is_leaving:
                member.describe(colour)
            case Pause(seconds=seconds):
                member.suspend(seconds)
                host.awake_s = max(host.awake_s, self.witness.now_s + seconds)
                self.witness.hanging.pop(member.settings.life, None)  # its pulse counts from when it is awake
            case Hang(seconds=seconds) if not host.is_leaving:
                member.pause()
                host.hangs = True
                self.witness.hanging[member.settings.life] = max(self.witness.now_s, host.awake_s)
                self.after(seconds, partial(self._awake, host, member))

    # Hosts.

    def _start(self, host: Host, previous: str = "", evicted: Member | None = None) -> None:
        self._end(host)
        host.lives += 1
        host.former = f"{host.its.instance}{host.lives}"
        host.member = self.cluster.start(
            host.its.instance, host.former, host.its.rate, host.world, previous=previous, priority=host.its.priority,
            former=evicted, snapshot_every=self.plan.snapshot_every, keep_records=50, streams=self.plan.streams,
        )  # fmt: skip
        host.member.acknowledges = not host.muted
        host.member.listen(self.witness.audience, Random(f"listeners/{host.former}/{self.plan.seed}"))  # noqa: S311

    def _end(self, host: Host) -> None:
        if host.member is not None:
            host.member.crash()
            self.cluster.members.remove(host.member)
            self.witness.audience.services.remove(host.member)
            if host.member in self.cluster.started:
                self.cluster.started.remove(host.member)
        host.member, host.is_leaving, host.hangs = None, False, False

    def _awake(self, host: Host, member: Member) -> None:
        self.witness.hanging.pop(member.settings.life, None)
        if host.member is member and not host.is_leaving:
            host.hangs = False
            member.watch()

    def _runs(self, instance: str) -> bool:
        """Whether there is a process of this instance."""
        return any(host.member is not None and host.its.instance == instance for host in self.hosts.values())

    def _mute(self, host: Host, *, muted: bool) -> None:
        host.muted = muted
        if host.member is not None:
            host.member.acknowledges = not muted

    @staticmethod
    def _fast(host: Host) -> None:
        host.world.append_s = host.world.read_s = 0.0

    def _trouble(self, host: Host, seconds: float) -> None:
        """Its messages may be late for a while."""
        until_s = self.witness.now_s + seconds + TROUBLE_S
        self.witness.troubled[host.its.instance] = max(until_s, self.witness.troubled.get(host.its.instance, 0.0))

    def _cut(self, host: Host, seconds: float) -> None:
        def restore() -> None:
            host.world.is_cut = False

        self._trouble(host, seconds)
        host.world.is_cut = True
        self.after(seconds, restore)

    def calm(self) -> None:
        """End everything that goes on: hosts that are coming back come back now."""
        for _, _, then in sorted(self._later, key=lambda each: each[:2]):
            then()
        self._later.clear()
        if self.hasty is not None:
            self.hasty.leave()
        if self.witness.state.frozen:  # the log that had the end of it was replaced
            self._command(freeze=FreezeCommand(frozen=False))

    @property
    def alive(self) -> list[Member]:
        """The members that run."""
        return [host.member for host in self.hosts.values() if host.member is not None]

    # Operators.

    def _command(self, **command: Any) -> None:
        self._commands += 1
        base = self.witness.state.changed
        event = AdminMessage(instance="ann", incarnation="ann1", seq=self._commands, base=base, **command)
        if self.witness.state.settings is not None:
            now_ns = self.cluster.simulation.clock.now().wall_ns
            said = new_record(event, record_id=f"ann/{self._commands}", time_ns=now_ns, producer="ann")
            self.cluster.append(said)
            self.witness.look()


def _command(verb: str, target: str) -> dict[str, Any]:
    match verb:
        case "evict":
            return {"evict": EvictCommand(target=target)}
        case "transfer":
            return {"transfer": TransferCommand(target=target)}
    return {"drain": DrainCommand(target=target, draining=verb == "drain")}


def settings(plan: ClusterPlan, cluster_id: str = "blue") -> ClusterSettings:
    """The settings that the cluster is founded with."""
    return ClusterSettings(cluster_id=cluster_id, ack_policy=plan.configuration.policy)
