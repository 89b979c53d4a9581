"""The size of a SQLite log after a day of a hundred subscribers, with topics kept short and without.

Usage: ``python benchmarks/topics_at_rest.py [--subscribers 100] [--hours 24]``, 3 minutes. Each subscriber
announces itself every ten seconds and reports twenty packages an hour, on a simulated clock.
"""

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

from callboard.actors.core.shortening_limits import ShorteningLimits
from callboard.actors.worlds.shortening.shortener import Shortener
from callboard.backends.logs.sqlite import SqliteLog
from callboard.messages.distribution.topic_messages import (
    DiscoveryMessage,
    PackageStatusMessage,
    State,
    Status,
    SubscriberConfiguration,
    SubscriberState,
)
from callboard.messages.headers import new_record
from callboard.messages.record import NewRecord
from callboard.messages.topics import Topics

TOPICS = Topics.with_prefix()
INTERVAL_S = 10
ROUND_S = 450
"""An agent checks every 300 to 600 seconds; of a hundred that check, one does the work."""
PACKAGES_AN_HOUR = 20


class Day:
    """A log, and the clock of its records."""

    def __init__(self, folder: Path, subscribers: int) -> None:
        self.now_ns = time.time_ns()
        self.log = SqliteLog(folder, clock=lambda: self.now_ns)
        self.folder, self.subscribers = folder, subscribers
        self.shortening_s, self.rounds, self.highest = 0.0, 0, 0

    async def run(self, hours: float, *, short: bool) -> None:
        """Write the records of the subscribers, and shorten the topics or not."""
        for topic in (TOPICS.package, TOPICS.status, TOPICS.discovery, TOPICS.command, TOPICS.event):
            await self.log.ensure(topic)
        shortener = Shortener(self.log)
        for turn in range(int(hours * 3600 / INTERVAL_S)):
            self.now_ns += INTERVAL_S * 10**9
            await self.log.append(TOPICS.discovery, [self.word(number, turn) for number in range(self.subscribers)])
            package, rest = divmod(turn * INTERVAL_S, 3600 // PACKAGES_AN_HOUR)
            if not rest:
                await self.log.append(TOPICS.status, [self.told(number, package) for number in range(self.subscribers)])
            if not turn * INTERVAL_S % ROUND_S:
                began = time.process_time()
                done = await shortener.run(TOPICS, ShorteningLimits(), self.now_ns) if short else None
                if done is not None and done.removed:
                    self.shortening_s += time.process_time() - began
                    self.rounds += 1
                self.highest = max(self.highest, self.at_rest())
        await self.log.close()

    def at_rest(self, topic: str = "") -> int:
        """Bytes of the files of a topic, or of all."""
        return sum(file.stat().st_size for file in self.folder.rglob("*") if file.is_file() and topic in file.name)

    def word(self, number: int, turn: int) -> NewRecord:
        """The announcement of a subscriber."""
        name, instance = f"edge-{number}", f"{number:032x}"
        said = DiscoveryMessage(
            subscriber_instance=instance, subscriber=name, states=(SubscriberState(publisher="site", offset=turn),),
            configuration=SubscriberConfiguration(editable=True, max_retries=-1, repository=f"/srv/content/{name}"),
            state=State.IDLE, offset=turn, log_id="0" * 32, since_ns=self.now_ns, time_ns=self.now_ns, imported=turn,
            host=f"host-{number}", pid=number, version="1.2.0", ready=True, ready_reason="idle", place="0" * 16,
        )  # fmt: skip
        record_id = f"{instance}/{number}/{turn}"
        return new_record(said, record_id=record_id, time_ns=self.now_ns, producer=f"{name}/{instance}")

    def told(self, number: int, package: int) -> NewRecord:
        """Its status of a package."""
        name, instance = f"edge-{number}", f"{number:032x}"
        status = PackageStatusMessage(
            subscriber_instance=instance, subscriber=name, publisher="site", offset=package, status=Status.IMPORTED,
            package_id=f"{package:032x}", sequence=package + 1, time_ns=self.now_ns,
        )  # fmt: skip
        key = f"{instance}/{package + 1}"
        return new_record(
            status, record_id=key, key=key, time_ns=self.now_ns, producer=f"{name}/{instance}", publisher="site"
        )


def main() -> None:
    """Measure, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--subscribers", type=int, default=100)
    parser.add_argument("--hours", type=float, default=24.0)
    chosen = parser.parse_args()
    for short in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            day = Day(Path(folder), chosen.subscribers)
            asyncio.run(day.run(chosen.hours, short=short))
            print(f"topics kept short: {short}; at most {day.highest / 1e6:.1f} MB")
            for topic in (TOPICS.discovery, TOPICS.status):
                print(f"  {topic} at the end: {day.at_rest(topic) / 1e6:.1f} MB")
            print(f"  shortened {day.rounds} times, {day.shortening_s:.1f} s of processor time")


if __name__ == "__main__":
    main()
