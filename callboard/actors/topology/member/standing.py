"""Whether a member may act as one: by what it has read back, and by its own monotonic clock."""

from callboard.actors.topology.joining import in_force
from callboard.actors.topology.member.settings import MemberSettings
from callboard.actors.topology.verdict import Reason, Verdict
from callboard.messages.topology.cluster_state import AckPolicy, ClusterMember, ClusterState
from callboard.messages.topology.control_messages import JoinMessage
from callboard.messages.topology.member_event import MemberEvent
from callboard.messages.topology.member_mail import MemberProblem, MessageSent

NEVER_MS = 1 << 62


class Standing:
    """Counts the lease only from messages that were read back, each from when it was sent: the others count it from
    when the message was appended, which is later.
    """

    def __init__(self, settings: MemberSettings) -> None:
        self._settings = settings
        self._sent: dict[int, int] = {}  # of messages not yet read back: seq -> when, in ms
        self._until_ms = 0
        self._agree_by_ms = NEVER_MS
        self._heard_ms = -1  # when our last message that was read back was sent
        self._succeeds = False  # another view keeper that was killed, and does not know when the view began
        self._epoch = self._viewed_ms = -1  # of the view; when the last message before it was sent, or -1
        self._rival = ("", 0)  # the incarnation that has the instance id, and its seq at our last join
        self._disagreeing: set[str] = set()
        self.is_member = False
        """Whether this incarnation ever was a member."""
        self.is_leaving = False
        self.problem = ""
        """A ``MemberProblem``, or empty."""
        self.detail = ""
        self.lag_ms = 0
        """How long it took until the last message was read back."""

    @property
    def until_ms(self) -> int:
        """Until when the member may count on its lease; 0 if it may not. A member that does not acknowledge the view is
        evicted at a deadline although its lease runs, so that ends its standing, too.
        """
        return 0 if self.is_final or self.is_leaving else min(self._until_ms, self._agree_by_ms)

    @property
    def is_final(self) -> bool:
        """Whether this incarnation can never be a member again."""
        return bool(self.problem) and MemberProblem(self.problem).is_final

    def report(self, problem: MemberProblem, detail: str) -> None:
        """Note a problem. The first final one stays."""
        if not self.is_final:
            self.problem, self.detail = problem.value, detail

    def resolve(self, problem: MemberProblem) -> None:
        """The problem has passed."""
        if self.problem == problem:
            self.problem = self.detail = ""

    def sent(self, said: MessageSent) -> None:
        """A message is about to be appended."""
        self._sent.setdefault(said.seq, said.at_ms)  # a restarted renewer may use a number again
        self._succeeds = self._succeeds or (said.joined and not self.is_member)
        self.is_member = self.is_member or said.joined

    def see(self, event: MemberEvent, verdict: Verdict, state: ClusterState) -> None:
        """A record was refused. ``state`` is after it."""
        if verdict.reason is Reason.DIVERGED:
            # The fold cannot tell which side is wrong, so a member that half of the others disagree with stops.
            self._disagreeing.add(event.instance)
            if 2 * len(self._disagreeing) >= len(state.members):
                self.report(MemberProblem.DIVERGED, verdict.detail)
        if isinstance(event, JoinMessage) and (event.instance, event.incarnation) == self._settings.life:
            self._refused(verdict, state)

    def _refused(self, verdict: Verdict, state: ClusterState) -> None:
        live = state.member(self._settings.instance)
        if verdict.reason is Reason.DUPLICATE_ID and live is not None:
            incarnation, seq = self._rival
            if live.incarnation == incarnation and live.seq > seq:  # it has spoken since, so it is alive
                self.report(MemberProblem.DUPLICATE_ID, verdict.detail)
            self._rival = live.incarnation, live.seq
        elif (problem := _FINAL.get(verdict.reason)) is not None:
            self.report(problem, verdict.detail)

    def read(self, state: ClusterState, now_ms: int) -> None:
        """Judge by the state after the last record read."""
        its = self._settings
        live = state.member(its.instance)
        if state.stopped >= 0:
            self.report(MemberProblem.TOO_NEW, f"the record at offset {state.stopped} needs a newer version; upgrade")
        elif live is not None and live.incarnation == its.incarnation:
            sent_ms = self._sent.get(live.seq)
            if state.view.epoch != self._epoch:
                self._epoch, self._viewed_ms = state.view.epoch, self._heard_ms
            if self._viewed_ms < 0 and sent_ms is not None and not self._succeeds:
                self._viewed_ms = sent_ms  # the first view is that of our own join
            self.is_member = True
            self.resolve(MemberProblem.FULL)
            self._agree_by_ms = self._deadline_ms(state, live)
            if sent_ms is not None:
                self._heard_ms = max(self._heard_ms, sent_ms)
                self.lag_ms = now_ms - sent_ms
                counted_ms = int(in_force(state).lease_ms * (1 - its.margin))
                self._until_ms = max(self._until_ms, sent_ms + counted_ms)
                self._sent = {seq: at_ms for seq, at_ms in self._sent.items() if seq > live.seq}
        elif self.is_member or any((each.instance, each.incarnation) == its.life for each in state.gone):
            self._is_gone(live.incarnation if live else "")

    def _deadline_ms(self, state: ClusterState, live: ClusterMember) -> int:
        settings = in_force(state)
        if live.acked == state.view.epoch or settings.ack_policy is not AckPolicy.EVICT:
            return NEVER_MS
        if self._viewed_ms < 0:
            return 0
        return self._viewed_ms + int(settings.ack_deadline_ms * (1 - self._settings.margin))

    def _is_gone(self, successor: str) -> None:
        its = f"incarnation {self._settings.incarnation} of {self._settings.instance}"
        if self.is_leaving:
            self.report(MemberProblem.LEFT, f"{its} has left")
        elif successor:
            self.report(MemberProblem.TAKEN_OVER, f"{its} was replaced by {successor}")
        else:
            self.report(MemberProblem.EVICTED, f"{its} was evicted; join with a new incarnation")

    def agree_again(self) -> None:
        """The view has changed, and with it what its members have to agree on."""
        self._disagreeing.clear()


_FINAL = {
    Reason.FULL: MemberProblem.FULL,
    Reason.GONE: MemberProblem.EVICTED,
    Reason.INCOMPATIBLE: MemberProblem.INCOMPATIBLE,
}
"""Why a join is refused, as a problem. Any other refusal passes: the join is sent again."""
