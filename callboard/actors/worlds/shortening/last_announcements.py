"""The last announcement of every repository on the discovery topic: what retention must know about all of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from callboard.actors.core.lease import Holder
from callboard.actors.publisher.fleet.fleet import FOLDED
from callboard.actors.publisher.fleet.following import is_elsewhere
from callboard.actors.publisher.fleet.liveness import Heard
from callboard.actors.worlds.shortening.topic_fold import TopicFold
from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.distribution.topic_messages import (
    ArchivedMessage,
    CommandMessage,
    DiscoveryMessage,
    ForgottenMessage,
)
from callboard.messages.headers import open_record
from callboard.messages.record import Record
from callboard.messages.relayed import site_of
from callboard.messages.repeated import Original, original_of

FORGOTTEN_S = 86_400.0
"""How long a forgotten subscriber's records are kept: a name forgotten by mistake, or by someone without the right to,
is missed within a day, and its next announcement undoes it."""


@dataclass(frozen=True, slots=True)
class LastWord:
    """The last announcement of a repository, and its last offset on the topic.

    ``held`` says whether it ever had the subscriber's name; ``forgotten_ns`` is when it was forgotten, 0 if it was
    not.
    """

    heard: Heard
    offset: int
    held: bool = True
    forgotten_ns: int = 0

    @property
    def announcement(self) -> DiscoveryMessage:
        """The announcement."""
        return self.heard.said

    def lapsed(self, now_ns: int) -> bool:
        """Whether it was forgotten long enough ago."""
        return bool(self.forgotten_ns) and now_ns - self.forgotten_ns > FORGOTTEN_S * 1e9


@dataclass(frozen=True, slots=True)
class _Forgotten:
    """Where and when a name was forgotten, and the last offset of that on the topic."""

    said: int
    time_ns: int
    offset: int


class LastAnnouncements(TopicFold):
    """Reads the whole topic once, then only new records.

    Repositories are distinguished by instance: an announcement does not affect another instance of the same name.
    The fleet view is not enough: it has one member per name, and none whose last announcement lies far back, and those
    are the ones that retention endangers.
    """

    def __init__(self, topic: str) -> None:
        super().__init__(topic)
        self.start_over()

    def start_over(self) -> None:
        """See ``TopicFold``."""
        super().start_over()
        self._words: dict[str, dict[str, LastWord]] = {}  # by subscriber and instance
        self._holders: dict[str, Holder[Heard]] = {}  # by subscriber, unless it was silent since it was forgotten
        self._forgotten: dict[str, _Forgotten] = {}
        self._archives: dict[str, tuple[ArchivedMessage, int, int]] = {}  # by place, the offset, and when announced

    @property
    def words(self) -> Iterator[LastWord]:
        """The last announcement of every repository, except those forgotten long ago."""
        return (word for of_one in self._words.values() for word in of_one.values() if not word.lapsed(self.now_ns))

    @property
    def members(self) -> Mapping[str, LastWord]:
        """By subscriber, the announcement that counts in the fleet; without forgotten ones."""
        lasts = ((name, holder.last) for name, holder in self._holders.items() if holder.last is not None)
        words = ((name, self._words.get(name, {}).get(last.said.subscriber_instance)) for name, last in lasts)
        return {name: word for name, word in words if word is not None}

    def needed(self) -> Iterable[int]:
        """The last announcement of every repository and archive, and for forgotten ones the record that says so."""
        for word in self.words:
            yield word.offset
            if word.forgotten_ns:
                yield self._forgotten[word.announcement.subscriber].offset
        yield from (offset for _, offset, _ in self._archives.values())

    def needs(self, record: Record) -> bool:
        """See ``TopicFold``."""
        match open_record(record, FOLDED):
            case ArchivedMessage(place=place):
                return place in self._archives and self._archives[place][1] == record.offset
            case ForgottenMessage(subscriber=subscriber):
                words = self._words.get(subscriber, {}).values()
                awaited = any(word.forgotten_ns and not word.lapsed(self.now_ns) for word in words)
                return awaited and self._forgotten[subscriber].offset == record.offset
            case DiscoveryMessage(subscriber=subscriber, subscriber_instance=instance):
                word = self._words.get(subscriber, {}).get(instance)
                return word is not None and word.offset == record.offset
        return False

    def knows(self, command: CommandMessage) -> bool:
        """Whether an announcement exists of a subscriber that the command is for, or of its relay."""
        return bool(self._meant(command))

    def first_of(self, words: Sequence[LastWord]) -> int:
        """The first offset that the topic must keep for these announcements to count as they do."""
        forgotten = (self._forgotten[word.announcement.subscriber].offset for word in words if word.forgotten_ns)
        return min((*(word.offset for word in words), *forgotten))

    def golden(self) -> frozenset[str]:
        """The names of subscribers whose verdicts others wait for."""
        return frozenset(word.announcement.configuration.golden for word in self.words) - {""}

    def handled_up_to(self, command: CommandMessage, end: int, log_id: str = "") -> int:
        """The offset up to which commands took effect at all repositories this one is for; -1 if none is known.

        Args:
            command: names a repository, or is for any that has the name.
            end: of the topic of commands; a repository that claims to be beyond it is not believed.
            log_id: of the package log; if given, announcements about another one do not count.
        """
        heard = (-1 if is_elsewhere(said, log_id) else said.command_offset for said in self._meant(command))
        return min((offset if offset < end else -1 for offset in heard), default=-1)

    def _meant(self, command: CommandMessage) -> list[DiscoveryMessage]:
        words, instance = self._words.get(site_of(command.subscriber), {}), command.subscriber_instance
        return [word.announcement for name, word in words.items() if instance in ("", name)]

    def unarchived(self, topic: str, end: int, since_ns: int) -> int:
        """The offset from which on some archive heard of since then lacks the topic; its end if none lacks any. An
        archive that claims to have more than there is counts as having nothing.
        """
        following = (
            each.next if each.next <= end else 0
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
            self.trouble(f"{error}: it may be of a subscriber", seen_ns)
            return
        except Undecodable as error:
            if record.header("type") == DiscoveryMessage.__name__:
                self.trouble(f"{error}: it may be of a subscriber", seen_ns)
            return
        if (original := original_of(record)) is not None:
            original = replace(original, time_ns=min(original.time_ns, seen_ns))
        match event:
            case ForgottenMessage(subscriber=subscriber):
                said, time_ns = (original.offset, original.time_ns) if original else (record.offset, seen_ns)
                self._forget(subscriber, _Forgotten(said, time_ns, record.offset))
            case ArchivedMessage(place=place):
                known = self._archives.get(place)
                if original is None or known is None or known[0] == event:
                    self._archives[place] = event, record.offset, original.time_ns if original else seen_ns
            case DiscoveryMessage() if original is not None:
                self._hear_again(event, record.offset, original)
            case DiscoveryMessage():
                self._hear(event, record, seen_ns)

    def _forget(self, subscriber: str, forgotten: _Forgotten) -> None:
        known = self._forgotten.get(subscriber)
        if known is not None and known.said > forgotten.said:
            return
        self._forgotten[subscriber] = forgotten
        words = self._words.get(subscriber, {})
        for instance, word in words.items():
            if word.heard.offset < forgotten.said:  # being forgotten again does not keep it longer
                words[instance] = replace(word, forgotten_ns=word.forgotten_ns or forgotten.time_ns)
        holder = self._holders.get(subscriber)
        if holder is not None and holder.last is not None and holder.last.offset < forgotten.said:
            del self._holders[subscriber]

    def _holder(self, subscriber: str) -> Holder[Heard]:
        """The known holder of the name; after it was forgotten, only later announcements count."""
        forgotten = self._forgotten.get(subscriber)
        first = max(self._first_read, forgotten.said + 1 if forgotten else 0)
        return self._holders.setdefault(subscriber, Holder(first))

    def _hear(self, said: DiscoveryMessage, record: Record, seen_ns: int) -> None:
        instance, words = said.subscriber_instance, self._words.setdefault(said.subscriber, {})
        heard = Heard.of(said, record.offset, record.time_ns, seen_ns=seen_ns, heard_s=seen_ns / 1e9)
        known, holder = words.get(instance), self._holder(said.subscriber)
        holder.hear(heard)
        takes = holder.last is not None and holder.last.offset == record.offset
        if heard.leaves and not takes and (known is None or not known.held):
            words.pop(instance, None)  # it withdraws a claim that was refused, and needs nothing
            return
        words[instance] = LastWord(heard, record.offset, takes or (known is not None and known.held))

    def _hear_again(self, said: DiscoveryMessage, offset: int, original: Original) -> None:
        words, instance = self._words.setdefault(said.subscriber, {}), said.subscriber_instance
        known = words.get(instance)
        if known is not None and known.heard.offset == original.offset and known.announcement == said:
            words[instance] = replace(known, offset=offset)
            return
        if original.offset >= self._first_read or (known is not None and known.heard.offset >= original.offset):
            return  # the original record was read, and differs; or it is older than what is known
        at_ns = original.time_ns
        older = Heard.of(said, original.offset, at_ns, seen_ns=at_ns, heard_s=at_ns / 1e9)
        forgotten = self._forgotten.get(said.subscriber)
        gone = forgotten is not None and original.offset < forgotten.said
        words[instance] = LastWord(older, offset, forgotten_ns=forgotten.time_ns if forgotten and gone else 0)
        if not gone:
            self._holder(said.subscriber).hear_older(older, original.read_to)
