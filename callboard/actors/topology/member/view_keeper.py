"""Follows the control topic: computes the cluster's state and this member's standing, and tells those who need them."""

from collections.abc import Iterable
from random import Random

from callboard.actors.core.backoff import RETRY
from callboard.actors.core.decision import (
    After,
    Done,
    Effect,
    Failed,
    Input,
    Moment,
    Origin,
    PeerUp,
    Reply,
    Send,
    Started,
    Stopped,
    Stopping,
    Tick,
    note,
)
from callboard.actors.core.effects import EnsureTopic, TrimTopic
from callboard.actors.core.follower import (
    Delivered,
    Follower,
    OutOfRange,
    Positioned,
    Replaced,
    StartPolicy,
    Unavailable,
    from_first,
    from_last,
)
from callboard.actors.core.lease import ORIGIN
from callboard.actors.topology.cluster_fold import ClusterFold
from callboard.actors.topology.cluster_view import essence
from callboard.actors.topology.member.roles import PROPOSER, RENEWER
from callboard.actors.topology.member.settings import MemberSettings
from callboard.actors.topology.member.standing import Standing
from callboard.actors.topology.member.suspects import suspects
from callboard.actors.topology.reducer import NS_PER_MS
from callboard.actors.topology.snapshots import begun
from callboard.actors.topology.verdict import Reason
from callboard.errors import LogReplaced
from callboard.messages.reading import Unread
from callboard.messages.record import Record
from callboard.messages.topology.cluster_state import EMPTY, ClusterState
from callboard.messages.topology.control_messages import SnapshotMessage
from callboard.messages.topology.member_mail import (
    ClusterNews,
    LeaveCluster,
    MemberProblem,
    MessageSent,
    Pulse,
    TopicRead,
    WatchCluster,
)
from callboard.messages.topology.reading import read
from callboard.messages.topology.state_hash import state_hash

ENSURE, REST = "ensure", "rest"
WATCH = "watch "

WATCHERS_MAX = 100
"""Questions that wait for news; there is one service. Further ones are answered at once."""

REST_S = 0.005
"""Between two reads, for each member of the cluster. All members read what each appends, so without a rest the cost of
waking up would grow with the square of their number.
"""

SNAPSHOT_PAUSE_S = 1.0
"""Between two attempts at a snapshot: one fails if another record comes first."""


class ViewKeeper:
    """Folds the control topic, from the newest snapshot on if there is one near the end.

    Receives: WatchCluster of the service, answered when there is news, at the latest after ``wait_ms``. MessageSent of
        the renewer, from which the standing is counted; LeaveCluster, which ends it.
    Sends: ClusterNews to the renewer and the proposer. To the renewer also Pulse, for each question before it leaves;
        TopicRead, after every read; and, as the leader, the draft of a SnapshotMessage.
    Stores: nothing. Creates the control topic, and as the leader trims it far before its newest snapshot.
    Timers: one per waiting question; "rest" between two reads, 5 ms for each member, at most half an interval of
        renewals; the follower's, and as long between attempts to create the topic, 0.1 to 5 s.
    Gives up: when the log was replaced, or trimmed without a snapshot, with the problem in ClusterNews.
    """

    def __init__(self, settings: MemberSettings, rng: Random) -> None:
        self._settings = settings
        self._rng = rng
        self._attempt = 0
        self._standing = Standing(settings)
        self._news = ClusterNews(version=0, state=EMPTY)
        self._told = self._essence(self._news)
        self._judged: tuple[object, ...] = ()  # what there was when this was last compared
        self._watchers: dict[str, tuple[Origin, int]] = {}
        self._asked = 0
        self._next_snapshot_s = 0.0
        self._trimmed = -1
        self._next_read: tuple[Effect, ...] = ()
        every = settings.snapshot_every  # the newest snapshot alone is usually in the first range
        self._ranges = [from_first(), from_last(4 * every), from_last(every + every // 4)]
        self._seek(self._ranges.pop())

    def _seek(self, policy: StartPolicy) -> None:
        its = self._settings
        wait_s = its.renew_ms / 1000  # a replaced log is noticed at the next read
        self._follower = Follower(its.topic, policy, self._rng, report=True, wait_s=wait_s)
        self._fold: ClusterFold | None = None
        self._first = self._start = self._previous = -1  # of the topic, of the reading, the last record read

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input."""
        match message:
            case Started() | Tick("ensure"):
                yield EnsureTopic(self._settings.topic)
            case Done(EnsureTopic()):
                yield from self._follower.start()
            case Failed(EnsureTopic(), error):
                self._attempt += 1
                self._standing.report(MemberProblem.UNAVAILABLE, str(error))
                yield note("topic.not_created", "warning", topic=self._settings.topic, error=str(error))
                yield After(ENSURE, RETRY.delay_s(self._attempt, self._rng))
            case WatchCluster():
                yield from self._watch(message, origin)
            case Tick(key) if key in self._watchers:
                yield Reply(self._watchers.pop(key)[0], self._news)
            case Failed(TrimTopic(), error):
                self._trimmed = -1
                yield note("topic.not_trimmed", "warning", topic=self._settings.topic, error=str(error))
            case Tick("rest"):
                yield from self._next_read
            case MessageSent():
                self._standing.sent(message)
            case LeaveCluster():
                self._standing.is_leaving = True
            case PeerUp(role) if role in (RENEWER, PROPOSER):
                yield Send(role, self._news)
            case Stopping():
                yield Stopped()
            case _:
                yield from self._follow(message, now)
        yield from self._tell(now)

    # Questions.

    def _watch(self, asked: WatchCluster, origin: Origin) -> Iterable[Effect]:
        if not self._standing.is_leaving:  # or a restarted renewer, which does not know of it, would join again
            yield Send(RENEWER, Pulse(health=asked.health, load_permille=asked.load_permille))
        if self._news.version > asked.after or asked.wait_ms <= 0 or len(self._watchers) >= WATCHERS_MAX:
            yield Reply(origin, self._news)
            return
        self._asked += 1
        key = f"{WATCH}{self._asked}"
        self._watchers[key] = origin, asked.after
        yield After(key, asked.wait_ms / 1000)

    def _tell(self, now: Moment) -> Iterable[Effect]:
        """Tell all if there is news."""
        its, read_to = self._standing, self._fold.offset if self._fold else None
        judged = self._follower.caught_up, read_to, its.until_ms, its.problem, its.detail
        if judged == self._judged:
            return
        self._judged, news = judged, self._current(now)
        if (essence := self._essence(news)) == self._told:
            return
        self._news, self._told = news, essence
        yield Send(RENEWER, news)
        yield Send(PROPOSER, news)
        for key, (origin, _) in self._watchers.items():
            yield After(key, -1)
            yield Reply(origin, news)
        self._watchers.clear()

    def _current(self, now: Moment) -> ClusterNews:
        its, fold = self._standing, self._fold if self._follower.caught_up else None
        state = fold.state if fold else EMPTY
        return ClusterNews(
            version=max(self._news.version + 1, _ms(now)),  # grows across restarts of this actor
            log_id=self._follower.log_id if fold else "",
            state=state,
            standing_until_ms=its.until_ms,
            problem=its.problem,
            detail=its.detail,
            read_to=state.offset,
            lag_ms=its.lag_ms,
        )

    def _essence(self, news: ClusterNews) -> tuple[object, ...]:
        """What makes a difference: all but the renewals and acknowledgements of others."""
        state, me = news.state, self._settings.instance
        own = state.member(me)
        said = (own.seq, own.acked) if own else ()
        standing = news.standing_until_ms, news.problem, news.detail
        return news.log_id, standing, said, suspects(state, me), essence(state)

    # The topic.

    def _follow(self, message: Input, now: Moment) -> Iterable[Effect]:
        news, effects = self._follower.handle(message)
        match news:
            case Positioned(offset, bounds):
                self._first, self._start, self._previous = bounds.first, offset, offset - 1
                if offset == bounds.first <= ORIGIN:
                    self._fold = ClusterFold()
            case Delivered(records=records):
                self._standing.resolve(MemberProblem.UNAVAILABLE)
                for record in records:
                    self._see(record)
                if records:
                    yield Send(RENEWER, TopicRead(read_to=self._previous))
            case Unavailable(reason):
                is_replaced = isinstance(message, Failed) and isinstance(message.error, LogReplaced)
                self._standing.report(MemberProblem.LOG_REPLACED if is_replaced else MemberProblem.UNAVAILABLE, reason)
            case OutOfRange(expected, bounds) if expected < bounds.first:  # the newest snapshot may suffice
                self._seek(from_first())
                effects = self._follower.start()
            case OutOfRange(expected, bounds):
                self._replaced(f"it ends at offset {bounds.end}, and {expected} was read")
            case Replaced(log_id, bounds):
                self._replaced(f"it is {bounds.log_id}, and was {log_id}")
        if self._follower.caught_up and self._fold is None and news is not None:
            effects = self._no_snapshot()
        elif self._fold is not None and self._follower.caught_up:
            self._standing.read(self._fold.state, _ms(now))
            yield from self._care(self._fold.state, now)
            if isinstance(news, Delivered) and news.records:
                self._next_read, effects = effects, (After(REST, self._rest_s(self._fold.state)),)
        yield from effects

    def _rest_s(self, state: ClusterState) -> float:
        return min(len(state.members) * REST_S, self._settings.interval_s(state) / 2)

    def _replaced(self, detail: str) -> None:
        topic = self._settings.topic
        self._standing.report(MemberProblem.LOG_REPLACED, f"the topic {topic} was replaced: {detail}; join again")

    def _see(self, record: Record) -> None:
        previous, self._previous = self._previous, record.offset
        if self._fold is None:
            self._fold = begun(record, previous)
            return
        event, epoch = read(record), self._fold.epoch
        verdict = self._fold.step(record.offset, record.time_ns // NS_PER_MS, event)
        if verdict.epoch != epoch:
            self._standing.agree_again()
        if not verdict.accepted and not isinstance(event, Unread):
            mine = event.instance == self._settings.instance
            if mine or verdict.reason is Reason.DIVERGED:
                self._standing.see(event, verdict, self._fold.state)

    def _no_snapshot(self) -> tuple[Effect, ...]:
        """Read everything, or give up if something is missing."""
        if self._start > self._first:
            self._seek(self._ranges.pop() if self._ranges else from_first())
            return self._follower.start()
        begins = f"{self._settings.topic} begins at offset {self._first}, and no snapshot tells what was before"
        gap = f"{begins}; let a member that still runs take a snapshot, or delete the topic: the next member creates it"
        self._standing.report(MemberProblem.GAP, gap)
        return ()

    def _care(self, state: ClusterState, now: Moment) -> Iterable[Effect]:
        """As the leader, take snapshots and remove what is long before them."""
        its = self._settings
        if self._standing.until_ms <= _ms(now) or not its.leads(state):
            return
        if state.offset - state.snapshot >= its.snapshot_every and now.mono_s >= self._next_snapshot_s:
            self._next_snapshot_s = now.mono_s + SNAPSHOT_PAUSE_S
            yield Send(RENEWER, SnapshotMessage(**its.by(), state=state, state_hash=state_hash(state)))
        below = state.snapshot - its.keep_records
        if below >= max(self._first, self._trimmed) + its.snapshot_every:
            self._trimmed = below
            yield TrimTopic(its.topic, self._follower.log_id, below)


def _ms(now: Moment) -> int:
    return int(now.mono_s * 1000)
