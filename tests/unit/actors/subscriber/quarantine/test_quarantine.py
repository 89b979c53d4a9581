"""Quarantined packages, as the ledger has them."""

import pytest

from callboard.actors.subscriber.quarantine import quarantine
from callboard.actors.subscriber.quarantine.quarantine import HELD_BYTES_MAX, HELD_MAX, HeldPaths, touch
from callboard.content.package_format.footprint import Footprint
from callboard.messages import codec
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.topic_messages import Kind, PackageMessage, Status
from callboard.testing.drivers.subscriber_example import LEDGER

NOW_NS = 7


def about(*paths: str, publisher: str = "site", kind: Kind = Kind.ADD) -> PackageMessage:
    return PackageMessage(publisher_instance="i", publisher=publisher, package_id="p", kind=kind, paths=paths)


def holding(*packages: tuple[int, str], failed: int = 10) -> Ledger:
    ledger = LEDGER
    for offset, path in packages:
        attempts = 4 if offset == failed else 0
        ledger = quarantine.hold(ledger, offset, about(path), attempts, "oops", NOW_NS)
    return ledger


def waits(ledger: Ledger) -> dict[int, int]:
    return {each.offset: each.waits_for for each in ledger.held}


def due(ledger: Ledger) -> list[int]:
    return [each.offset for each in ledger.held if each.due]


def told(ledger: Ledger) -> list[tuple[int, Status]]:
    return [(line.offset, line.status) for line in ledger.outbox]


@pytest.mark.parametrize(
    ("one", "other", "answer"),
    [
        ("/a", "/a", True),
        ("/a", "/a/b/c", True),
        ("/a/b/c", "/a", True),
        ("/", "/a/b", True),
        ("/a/b", "/", True),
        ("/a/b", "/a/c", False),
        ("/a", "/ab", False),
        ("/a/b", "/a/bc/d", False),
    ],
)
def test_packages_overlap_if_a_path_is_the_same_or_above_or_below(one: str, other: str, answer: bool) -> None:
    assert touch([one], ["/elsewhere", other]) is answer
    held = HeldPaths(holding((10, one)).held)
    assert bool(held.touched_by(about("/elsewhere", other))) is answer


def test_a_package_waits_for_the_last_held_one_that_it_overlaps() -> None:
    ledger = holding((10, "/a"), (11, "/a/b"), (12, "/c"), (13, "/a/b/c"), (14, "/a/d"))
    assert waits(ledger) == {10: -1, 11: 10, 12: -1, 13: 11, 14: 10}


@pytest.mark.proves("W22")
def test_packages_that_wait_are_due_once_no_held_package_before_them_overlaps() -> None:
    ledger = holding((10, "/a"), (11, "/a/b"), (12, "/a/c"), (13, "/a"))
    ledger = quarantine.ended(ledger, 10, Status.IMPORTED, "", NOW_NS)
    assert due(ledger) == [11, 12]
    assert waits(ledger) == {11: -1, 12: -1, 13: 12}
    ledger = quarantine.ended(ledger, 12, Status.SKIPPED, "because", NOW_NS)
    assert waits(ledger) == {11: -1, 13: 11}
    ledger = quarantine.ended(ledger, 11, Status.IMPORTED, "", NOW_NS)
    assert due(ledger) == [13]
    assert told(ledger) == [(10, Status.IMPORTED), (12, Status.SKIPPED), (11, Status.IMPORTED)]
    assert (ledger.imported, ledger.skipped, ledger.offset) == (2, 1, LEDGER.offset)


def test_a_held_package_that_failed_itself_waits_for_a_command() -> None:
    ledger = holding((10, "/a"), (11, "/a"), failed=11)
    ledger = quarantine.ended(ledger, 10, Status.SKIPPED, "", NOW_NS)
    assert due(ledger) == []
    assert due(quarantine.retried(ledger, 11)) == [11]


def test_a_retry_has_all_attempts_again_and_each_is_counted_before_it_begins() -> None:
    ledger = quarantine.retried(holding((10, "/a")), 10)
    assert [each.attempts for each in ledger.held] == [0]
    ledger = quarantine.attempting(quarantine.attempting(ledger, 10), 10)
    assert [each.attempts for each in ledger.held] == [2]
    assert [each.attempts for each in quarantine.not_counted(ledger, 10, "down").held] == [1]
    last = quarantine.failed(ledger, 10, "still wrong", NOW_NS, is_last=True)
    assert due(last) == []
    assert [(line.status, line.reason, line.attempts) for line in last.outbox] == [(Status.HELD, "still wrong", 2)]


@pytest.mark.parametrize(
    ("later", "held", "answer"),
    [
        (Footprint(trees=frozenset(["/a"])), about("/a/b", "/a"), True),
        (Footprint(trees=frozenset(["/a"])), about("/a/b", "/c"), False),
        (Footprint(nodes=frozenset(["/a"])), about("/a"), False),
        (Footprint(unsure=frozenset(["/a"])), about("/a"), False),
        (Footprint(trees=frozenset(["/"]), spares_root=True), about("/"), False),
        (Footprint(trees=frozenset(["/"]), spares_root=True), about("/", kind=Kind.DELETE), True),
    ],
)
def test_only_a_package_that_replaces_all_of_a_held_one_supersedes_it(
    later: Footprint, held: PackageMessage, answer: bool
) -> None:
    (entry,) = quarantine.hold(LEDGER, 10, held, 1, "", NOW_NS).held
    assert quarantine.replaces(later, entry) is answer


def test_superseded_packages_are_reported_and_none_of_them_is_released() -> None:
    ledger = holding((10, "/a"), (11, "/a"), (12, "/b"), failed=10)
    after = quarantine.superseded(ledger, ledger.held[:2], 13, NOW_NS)
    assert (waits(after), due(after), after.superseded) == ({12: -1}, [], 2)
    assert sorted(told(after)) == [(10, Status.SUPERSEDED), (11, Status.SUPERSEDED)]
    assert {line.reason for line in after.outbox} == {"replaced by offset 13"}


@pytest.mark.proves("F48", "W10")
def test_a_clear_covers_held_packages_of_its_publisher_up_to_its_offset() -> None:
    ledger = holding((10, "/a"), (11, "/a/b"), (13, "/a/b"))
    ledger = quarantine.hold(ledger, 12, about("/a", publisher="shop"), 0, "", NOW_NS)
    after = quarantine.cleared(ledger, "site", 12, "cleared by ann", NOW_NS)
    assert sorted(told(after)) == [(10, Status.REMOVED), (11, Status.REMOVED)]
    assert (after.cleared, due(after)) == (2, [12])
    assert waits(quarantine.cleared(ledger, "", 99, "", NOW_NS)) == {}


def test_the_number_of_held_packages_is_bounded() -> None:
    ledger = holding(*((offset, f"/{offset}") for offset in range(10, 10 + HELD_MAX - 1)))
    assert len(codec.encode(ledger)) < HELD_BYTES_MAX
    assert not quarantine.no_room(ledger, about("/a"))
    full = quarantine.hold(ledger, 9999, about("/a"), 0, "", NOW_NS)
    problem = quarantine.no_room(full, about("/b"))
    assert f"{HELD_MAX} are held" in problem
    assert "beginning with offset 10" in problem


def test_the_bytes_of_held_packages_are_bounded() -> None:
    long = "/" + "x" * 1000
    assert not quarantine.no_room(LEDGER, about(long))
    assert "skip it" in quarantine.no_room(LEDGER, about(*(f"{long}/{number}" for number in range(300))))
