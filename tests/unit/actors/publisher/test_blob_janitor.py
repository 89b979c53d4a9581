"""The blob janitor: when it collects, and what it says."""

from random import Random

from callboard.actors.core.decision import Note, Stopping
from callboard.actors.publisher import PublisherSettings, actors, roles
from callboard.actors.publisher.blob_janitor import (
    COLLECT,
    FIRST_S,
    INTERVAL_S,
    BlobJanitor,
    BlobJanitorSettings,
)
from callboard.actors.publisher.effects import CollectBlobs
from callboard.content.collection import BlobCollection
from callboard.errors import BlobUnavailable
from callboard.messages.topics import Topics
from callboard.testing.drivers.decision_driver import DecisionDriver


def janitor(seed: int = 1) -> DecisionDriver:
    return DecisionDriver(BlobJanitor(BlobJanitorSettings("package", "status"), Random(seed)))


def due_s(driver: DecisionDriver) -> float:
    return driver.timers[COLLECT] - driver.now.mono_s


def test_publishers_started_together_do_not_all_collect_at_once():
    delays = {due_s(janitor(seed)) for seed in range(5)}
    assert len(delays) == 5
    assert all(FIRST_S[0] <= delay_s <= FIRST_S[1] for delay_s in delays)


def test_a_run_is_followed_by_the_next_after_the_interval():
    driver = janitor()
    driver.tick(COLLECT)
    collection = driver.done(CollectBlobs, BlobCollection(blobs=5, removed=2))
    assert collection.now_ns == driver.now.wall_ns
    assert driver.notes() == ["blobs.collected"]
    assert due_s(driver) == INTERVAL_S


def test_a_run_that_removes_nothing_because_of_an_unreadable_record_says_so():
    driver = janitor()
    driver.tick(COLLECT)
    driver.done(CollectBlobs, BlobCollection(problem="offset 7"))
    assert [(line.event, line.level) for line in driver.effects if isinstance(line, Note)] == [
        ("blobs.not_collected", "warning")
    ]
    assert due_s(driver) == INTERVAL_S


def test_a_failed_run_is_repeated_soon_and_then_later():
    driver = janitor()
    waits = []
    for _ in range(8):
        driver.tick(COLLECT)
        driver.fail(CollectBlobs, BlobUnavailable("down"))
        waits.append(due_s(driver))
    assert waits[0] < 120
    assert waits[0] < waits[-1] <= 3600
    driver.feed(Stopping())
    assert driver.stopped


def test_there_is_a_janitor_only_if_it_is_configured():
    settings = {"name": "site", "instance": "i", "topics": Topics.with_prefix()}
    assert roles.BLOB_JANITOR not in {spec.role for spec in actors(PublisherSettings(**settings))}
    assert roles.BLOB_JANITOR in {spec.role for spec in actors(PublisherSettings(**settings, blob_grace_s=7200.0))}
