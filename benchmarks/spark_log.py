"""A PostgreSQL log with history, for the benchmarks of the pipeline to read."""

from callboard.backends.logs.postgres import PostgresLog
from callboard.messages.distribution.topic_messages import (
    DiscoveryMessage,
    Kind,
    PackageMessage,
    PackageStatusMessage,
    Status,
    SubscriberConfiguration,
)
from callboard.messages.event import Event
from callboard.messages.headers import new_record

SUBSCRIBERS = 50
CHUNK = 1000


def package(number: int) -> Event:
    return PackageMessage(
        publisher_instance="i", publisher=f"p{number % 4}", package_id=f"{number:032x}", kind=Kind.ADD, length=number,
        paths=(f"/site/{number % 1000}",), user="admin", content=b"x" * 100,
    )  # fmt: skip


def status(number: int) -> Event:
    who = number % SUBSCRIBERS
    return PackageStatusMessage(
        subscriber_instance=f"i{who}", subscriber=f"s{who}", publisher=f"p{number % 4}", offset=number // 2,
        status=Status.IMPORTED, sequence=number, time_ns=number,
    )  # fmt: skip


def announcement(number: int) -> Event:
    who = number % SUBSCRIBERS
    settings = SubscriberConfiguration(editable=True, max_retries=-1)
    return DiscoveryMessage(subscriber_instance=f"i{who}", subscriber=f"s{who}", configuration=settings, offset=number)


async def fill(url: str, count: int) -> None:
    """That many packages and statuses, and an announcement of each subscriber for every hundredth of them.

    The same thousand again and again: what makes them is not what is measured.
    """
    log = PostgresLog(url)
    for topic, make, number in (("package", package, count), ("status", status, count),
                                ("discovery", announcement, max(count // 100, SUBSCRIBERS))):  # fmt: skip
        name = f"callboard.{topic}"
        await log.ensure(name)
        records = [new_record(make(each), record_id="r", time_ns=1, producer="b/1") for each in range(CHUNK)]
        for low in range((await log.bounds(name)).end - 1, number, CHUNK):
            await log.append(name, records[: min(CHUNK, number - low)])
    await log.close()
