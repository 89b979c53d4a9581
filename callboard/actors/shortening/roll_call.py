"""Every subscriber that the discovery topic tells of, with its last word: what a retention must know of them all."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from callboard.actors.publisher.fleet import FOLDED, FleetSettings, took_back
from callboard.actors.publisher.liveness import Heard
from callboard.actors.shortening.topic_fold import TopicFold
from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.distribution import ArchivedMessage, DiscoveryMessage, ForgottenMessage
from callboard.messages.headers import open_record
from callboard.messages.record import Record
from callboard.messages.repeated import Original, original_of

GONE_AFTER_S = FleetSettings(topic="").gone_after_s
"""As the fleet has it: by then a name may pass to another instance."""


@dataclass(frozen=True, slots=True)
class LastWord:
    """The announcement that counts, and where the topic has it last."""

    heard: Heard
    offset: int

    @property
    def announcement(self) -> DiscoveryMessage:
        """What was said."""
        return self.heard.announcement


class RollCall(TopicFold):
    """Reads the whole topic once, and only what is new after that.

    The view of the fleet will not do: it knows nobody whose last word lies far back, and those are the ones that a
    retention endangers.
    """

    def __init__(self, topic: str) -> None:
        super().__init__(topic)
        self.start_over()

    def start_over(self) -> None:
        """See ``TopicFold``."""
        super().start_over()
        self.members: dict[str, LastWord] = {}
        self._archives: dict[str, tuple[ArchivedMessage, int, int]] = {}  # by place, the offset, and when it was said
        self._forgotten: dict[str, int] = {}  # who, and where that was said

    def needed(self) -> Iterable[int]:
        """The last word of every subscriber, and of the archive."""
        yield from (word.offset for word in self.members.values())
        yield from (offset for _, offset, _ in self._archives.values())

    def needs(self, record: Record) -> bool:
        """See ``TopicFold``."""
        if record.header("type") == ArchivedMessage.__name__:
            return record.offset in {offset for _, offset, _ in self._archives.values()}
        word = self.members.get(open_record(record, DiscoveryMessage).subscriber)
        return word is not None and word.offset == record.offset

    def golden(self) -> frozenset[str]:
        """The names of those whose verdicts others wait for."""
        return frozenset(word.announcement.configuration.golden for word in self.members.values()) - {""}

    def unarchived(self, topic: str, end: int, since_ns: int) -> int:
        """From where on some archive that was heard of since then does not have the topic; its end if all have all."""
        following = (
            each.next
            for archive, _, said_ns in self._archives.values()
            for each in archive.topics
            if each.topic == topic and said_ns >= since_ns
        )
        return min(following, default=end)

    def fold(self, record: Record, seen_ns: int) -> None:
        """See ``TopicFold``."""
        try:
            event = open_record(record, FOLDED)
        except SchemaTooNew as error:
            self.problem = f"{error}: it may be of a subscriber"
            return
        except Undecodable as error:
            if record.header("type") == DiscoveryMessage.__name__:
                self.problem = f"{error}: it may be of a subscriber"
            return
        original = original_of(record)
        match event:
            case ForgottenMessage(subscriber=name):
                self.members.pop(name, None)
                self._forgotten[name] = record.offset
            case ArchivedMessage(place=place):
                known = self._archives.get(place)
                if original is None or known is None or known[0] == event:
                    self._archives[place] = event, record.offset, original.time_ns if original else seen_ns
            case DiscoveryMessage() if original is not None:
                self._hear_again(event, record.offset, original)
            case DiscoveryMessage():
                self._hear(event, record.offset, seen_ns)

    def _hear(self, said: DiscoveryMessage, offset: int, seen_ns: int) -> None:
        heard = Heard(said, seen_ns, seen_ns / 1e9, offset)
        known = self.members.get(said.subscriber)
        if known is None or known.heard.gives_way_to(heard, GONE_AFTER_S):
            self.members[said.subscriber] = LastWord(heard, offset)

    def _hear_again(self, said: DiscoveryMessage, offset: int, original: Original) -> None:
        known = self.members.get(said.subscriber)
        if known is not None and known.heard.offset == original.offset:
            self.members[said.subscriber] = replace(known, offset=offset)
            return
        older = Heard(said, original.time_ns, original.time_ns / 1e9, original.offset)
        if known is None:
            counts = self._forgotten.get(said.subscriber, -1) < original.offset
        else:
            counts = known.heard.offset < original.offset or took_back(known.heard, older, GONE_AFTER_S)
        if counts:
            self.members[said.subscriber] = LastWord(older, offset)
