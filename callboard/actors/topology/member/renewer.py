"""Says on the control topic what there is to say for the member; nothing else does, so its messages are in order."""

from collections.abc import Iterable
from random import Random

from callboard.actors.core.backoff import Backoff
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
    Stopped,
    Stopping,
    Tick,
    note,
)
from callboard.actors.core.effects import Append, FindBounds
from callboard.actors.topology.administration import PROTOCOL
from callboard.actors.topology.member.asked import LOST, Asked
from callboard.actors.topology.member.barriers import BarrierReading
from callboard.actors.topology.member.roles import VIEW_KEEPER
from callboard.actors.topology.member.settings import MemberSettings
from callboard.errors import TopicMissing
from callboard.messages.event import replaced
from callboard.messages.headers import new_record
from callboard.messages.record import NewRecord
from callboard.messages.topology.cluster_state import EMPTY, ClusterMember
from callboard.messages.topology.control_messages import (
    AdminMessage,
    JoinMessage,
    LeaveMessage,
    ProposeMessage,
    RenewMessage,
    SnapshotMessage,
)
from callboard.messages.topology.member_event import MemberEvent
from callboard.messages.topology.member_mail import (
    AcknowledgeView,
    ChangeProperties,
    ClusterNews,
    LeaveCluster,
    MemberProblem,
    MessageSent,
    Pulse,
    TopicRead,
)

RENEW, RETRY_APPEND = "renew", "retry"

EARLY = 0.2
"""Each renewal comes up to this share of the interval early, so that members do not renew all at once."""

ASKED_MAX = 100
"""Questions that wait for the log; the service has a few."""


class Renewer:
    """Founds the cluster, joins it, renews the lease, and appends what others ask for, one message at a time.

    Receives: ClusterNews, TopicRead and Pulse of the view keeper; AcknowledgeView, ChangeProperties and LeaveCluster of
        the service; drafts of a ProposeMessage (the proposer's) and a SnapshotMessage (the view keeper's), which are
        dropped if they come at a bad time. After LeaveCluster nothing but the leave is appended.
    Sends: MessageSent to the view keeper, before each message; LeaveCluster, when the service leaves. The answers, when
        what was asked is read back.
    Stores: nothing but the messages.
    Timers: "renew", each ``interval_s`` or a little earlier; what was not read back by then is said again. "retry",
        0.1 s to half of ``renew_ms``, while the log fails.
    Gives up: founding, joining and renewing while the service shows no pulse; all, on a final problem.
    """

    def __init__(self, settings: MemberSettings, rng: Random) -> None:
        self._settings = settings
        self._rng = rng
        self._news = ClusterNews(version=0, state=EMPTY)
        self._me: ClusterMember | None = None
        self._read_to = -1
        self._seq = -1  # not known yet
        self._saying: MemberEvent | None = None  # the last message
        self._sent: MessageSent | None = None
        self._joined = self._left = False
        self._pulse, self._pulse_ms = Pulse(), -settings.pulse_ms
        self._due = True
        self._busy = False  # appending, or waiting to try again
        self._attempt = 0
        self._asked: dict[Origin, Asked] = {}
        self._draft: ProposeMessage | SnapshotMessage | None = None
        self._barriers = BarrierReading(settings.streams)
        # All must be heard soon after the log is back, or the first would evict the others.
        self._retry = Backoff(first_s=0.1, max_s=settings.renew_ms / 2000)

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input."""
        match message:
            case ClusterNews():
                self._learn(message, now)
            case Pulse():
                self._pulse, self._pulse_ms = message, _ms(now)
            case TopicRead(read_to=read_to):
                self._read_to = read_to
            case AcknowledgeView() | ChangeProperties() | LeaveCluster():
                yield from self._take(message, origin)
            case ProposeMessage() | SnapshotMessage():
                self._draft = None if self._busy else message
            case Tick("renew") | Tick("retry"):
                self._busy = self._busy and message.key == RENEW
                self._fall_due()
            case Done(Append()):
                self._busy, self._attempt = False, 0
                self._left = self._left or isinstance(self._saying, LeaveMessage)
            case Failed(Append()) | Failed(FindBounds()):
                yield from self._failed(message)
            case Done(FindBounds()):
                self._barriers.take(message)
            case PeerUp("view_keeper"):
                yield from self._introduce()
            case Stopping():
                yield Stopped()
                return
        yield from self._answer()
        yield from self._say(now)

    # What is known.

    def _introduce(self) -> Iterable[Effect]:
        """Tell a restarted view keeper what its predecessor knew."""
        if self._sent is not None:
            yield Send(VIEW_KEEPER, replaced(self._sent, joined=self._joined))
        if self._is_leaving or self._left:
            yield Send(VIEW_KEEPER, LeaveCluster())

    def _learn(self, news: ClusterNews, now: Moment) -> None:
        if news.state.settings and not self._news.state.settings:
            self._due = True  # to join at once what was just founded
        known = news.log_id or not self._news.log_id  # a restarted view keeper knows nothing at first
        self._news = news if known else replaced(self._news, problem=news.problem, detail=news.detail)
        self._read_to = max(self._read_to, news.read_to)
        is_member = self._settings.is_member(self._news.state)
        me = self._me = self._news.state.member(self._settings.instance) if is_member else None
        if news.log_id:  # what a predecessor said may not be read back, but is less than one message a millisecond
            self._seq = max(self._seq, me.seq if me else 0) if self._seq >= 0 else _ms(now)
        self._joined = self._joined or me is not None

    @property
    def _is_over(self) -> bool:
        problem = self._news.problem
        return bool(problem) and MemberProblem(problem).is_final

    @property
    def _is_leaving(self) -> bool:
        return any(isinstance(asked.question, LeaveCluster) for asked in self._asked.values())

    def _fall_due(self) -> None:
        """It is time to renew, and to repeat what was not read back: it may be lost."""
        self._due = True
        heard = me.seq if (me := self._me) else 0
        for asked in self._asked.values():
            asked.seq = asked.seq if asked.seq <= heard else LOST

    def _failed(self, failed: Failed) -> Iterable[Effect]:
        self._barriers.take(failed)
        if isinstance(failed.effect, FindBounds) and isinstance(failed.error, TopicMissing):
            return
        self._barriers.forget()
        self._busy = True
        self._attempt += 1
        level = "warning" if self._attempt == 1 else "debug"
        yield note("message.failed", level, attempt=self._attempt, error=str(failed.error))
        yield After(RETRY_APPEND, self._retry.delay_s(self._attempt, self._rng))

    # Questions.

    def _take(self, question: AcknowledgeView | ChangeProperties | LeaveCluster, origin: Origin) -> Iterable[Effect]:
        if len(self._asked) >= ASKED_MAX:
            yield note("question.dropped", "warning", waiting=len(self._asked))
            return
        if isinstance(question, LeaveCluster) and not self._is_leaving:
            self._barriers.forget()
            yield Send(VIEW_KEEPER, question)
        self._asked[origin] = Asked(question)

    def _answer(self) -> Iterable[Effect]:
        """Answer what was read back, and what can no longer be done."""
        state = self._news.state
        if self._is_leaving and self._sent is None and self._seq >= 0:
            self._left = True  # without a word, as it has said nothing yet
        ended = self._is_over or (self._me is None and (self._joined or self._left))
        for origin, asked in list(self._asked.items()):
            answer = asked.answer(self._settings, state) if self._me else None
            if ended:
                answer = asked.farewell(state.view.epoch if self._joined else -1, self._news.detail)
            if answer is not None:
                del self._asked[origin]
                yield Reply(origin, answer)

    # Messages.

    def _say(self, now: Moment) -> Iterable[Effect]:
        """Append the next message, one at a time: they are on the log in the order of their ``seq``."""
        ended = self._is_over or self._left or (self._joined and self._me is None)
        if ended or self._busy or self._seq < 0:
            return
        if self._needs_barriers(now) and self._barriers.found is None:
            yield from self._barriers.read()
            return
        event = self._next(now)
        if event is None:
            return
        if isinstance(event, RenewMessage | JoinMessage | AdminMessage):
            self._due = False
            interval_s = self._settings.interval_s(self._news.state)
            yield After(RENEW, interval_s * self._rng.uniform(1 - EARLY, 1))
        self._busy, self._saying = True, event
        self._sent = MessageSent(seq=event.seq, at_ms=_ms(now), joined=self._joined)
        yield Send(VIEW_KEEPER, self._sent)
        yield Append(self._settings.topic, (self._record(event, now),))

    def _next(self, now: Moment) -> MemberEvent | None:
        its, state, me = self._settings, self._news.state, self._me
        alive = self._is_alive(now)
        draft, self._draft = self._draft, None
        if self._is_leaving:
            return self._leave()
        if me is None:
            return self._entrance() if alive and self._due else None
        if draft is not None and alive:  # every message renews the lease
            return self._numbered(draft)
        heard = me.seq >= self._seq  # all that was said
        for asked in self._asked.values():
            if (heard or not asked.seq) and (event := asked.message(its, state)) is not None:
                asked.seq = self._seq + 1
                return self._numbered(event)
        if not (alive and self._due):
            return None
        health, load = self._pulse.health, self._pulse.load_permille
        return self._numbered(RenewMessage(**its.by(), read_to=self._read_to, health=health, load_permille=load))

    def _numbered(self, event: MemberEvent) -> MemberEvent:
        self._seq += 1
        return replaced(event, seq=self._seq)

    def _is_alive(self, now: Moment) -> bool:
        return _ms(now) - self._pulse_ms < self._settings.pulse_ms

    def _needs_barriers(self, now: Moment) -> bool:
        """To leave, and for each join that may replace another incarnation: this may have written in between."""
        joins = self._me is None and self._due and self._is_alive(now)
        return self._is_leaving or (joins and self._news.state.member(self._settings.instance) is not None)

    @property
    def _replaces(self) -> str:
        """The former incarnation of this instance, if the cluster still lists it and the host knows it."""
        live = self._news.state.member(self._settings.instance)
        return self._settings.previous if live and live.incarnation == self._settings.previous else ""

    def _leave(self) -> MemberEvent | None:
        asked = next(asked for asked in self._asked.values() if isinstance(asked.question, LeaveCluster))
        assert isinstance(asked.question, LeaveCluster)
        if asked.seq > 0:
            return None
        asked.seq = self._seq + 1
        leave = LeaveMessage(**self._settings.by(), reason=asked.question.reason, barriers=self._barriers.found or ())
        return self._numbered(leave)

    def _entrance(self) -> MemberEvent:
        """Found the cluster or join it. A refused join is repeated: it also shows that time passes, until a former
        incarnation's lease has run out.
        """
        its, state = self._settings, self._news.state
        if state.settings is None:
            return self._numbered(AdminMessage(**its.by(), base=state.changed, configure=its.founding))
        join = JoinMessage(
            **its.by(), previous=self._replaces, read_to=self._read_to, protocol=PROTOCOL, priority=its.priority,
            tags=its.tags, properties=its.properties, barriers=self._barriers.found or (),
        )  # fmt: skip
        self._barriers.forget()
        return self._numbered(join)

    def _record(self, event: MemberEvent, now: Moment) -> NewRecord:
        number = f"{event.instance}/{event.incarnation}/{event.seq}"
        return new_record(event, record_id=number, time_ns=now.wall_ns, producer=event.instance)


def _ms(now: Moment) -> int:
    return int(now.mono_s * 1000)
