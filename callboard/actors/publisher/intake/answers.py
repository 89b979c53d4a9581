"""The outcomes of requests, to answer a request that is made again."""

from collections import OrderedDict
from collections.abc import Iterable
from random import Random

from callboard.actors.core.decision import Effect, Input
from callboard.actors.core.effects import FindBounds
from callboard.actors.core.follower import Delivered, Follower, Replaced, Unavailable, from_last
from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.distribution.mailbox import DistributeResponse
from callboard.messages.distribution.topic_messages import PackageMessage
from callboard.messages.headers import open_record
from callboard.messages.record import Record

LOOK_BACK = 1000
"""Newest offsets read for requests that became packages: a request is made again soon, or never."""

PATIENCE = 5
"""Failures of the log in a row before the waiting callers are answered."""


class Answers:
    """The newest ``most`` answers. A log with keys remembers the older ones: it appends a key once.

    With ``recall``, for a log without keys, the log is read first: packages of this publisher from before a restart,
    or from another process. Two processes that get the same request at the same moment still ship it twice.
    """

    END = "end"
    """Owner of the query for the end of the topic after an append that may have failed; the follower has its own."""

    def __init__(self, topic: str, publisher: str, most: int, rng: Random, *, recall: bool) -> None:
        self.problem = ""
        """Why the log cannot be read."""
        self._publisher = publisher
        self._most = most
        self._answers: OrderedDict[str, DistributeResponse] = OrderedDict()
        self._follower = Follower(topic, from_last(LOOK_BACK), rng) if recall else None
        self._find_end = FindBounds(topic, owner=self.END)
        self._end: int | None = None  # everything below it is read before an append is repeated

    @property
    def complete(self) -> bool:
        """Whether requests can be carried out: what is on the log was read, so a repeated request is recognised."""
        return self._follower is None or self._follower.caught_up

    def start(self) -> Iterable[Effect]:
        """The effects that begin reading."""
        return self._follower.start() if self._follower else ()

    def handle(self, message: Input) -> Iterable[Effect]:
        """Handle what was read."""
        if self._follower is None:
            return ()
        news, effects = self._follower.handle(message)
        match news:
            case Replaced():
                self._end = 0 if self._end is not None else None
            case Unavailable(reason, attempt):
                self.problem = reason if attempt >= PATIENCE else ""
            case Delivered(records=records):
                self.problem = ""
                for record in records:
                    self._given_up(record)
        return effects

    def catch_up(self) -> Iterable[Effect]:
        """Read what is on the log by now; ``caught_up`` reports when that is done."""
        self._end = None
        return (self._find_end,)

    def ends(self, end: int) -> None:
        """Set the end of the topic, as queried by ``catch_up``."""
        self._end = end

    def caught_up(self) -> bool:
        """Whether everything is read; True only once."""
        if self._follower is None or self._end is None or self._follower.position < self._end:
            return False
        self._end = None
        return True

    def find(self, request_id: str) -> DistributeResponse | None:
        """The answer to this request, if known."""
        return self._answers.get(request_id)

    def remember(self, answer: DistributeResponse) -> None:
        """Keep the answer; the oldest is dropped."""
        self._answers[answer.request_id] = answer
        if len(self._answers) > self._most:
            self._answers.popitem(last=False)

    def _given_up(self, record: Record) -> None:
        if record.header("publisher") != self._publisher or record.header("cause") in self._answers:
            return
        try:
            package = open_record(record, PackageMessage)
        except (Undecodable, SchemaTooNew):
            return  # of a newer version; whether it is the same request is unknown
        if package.request_id:
            answer = DistributeResponse(
                request_id=package.request_id,
                accepted=True,
                package_id=package.package_id,
                offset=record.offset,
                length=package.fetched_bytes,
                entries=package.entries,
            )
            self.remember(answer)
