"""A batch has the same effect as its packages one after the other, and each fails only for its own errors."""

import pytest

from callboard.actors.subscriber.effects import ImportPackages, OpenRepository
from callboard.actors.subscriber.importing.batch import BLOB_BYTES_ASSUMED
from callboard.errors import BlobMissing, CallboardError, PackageCorrupt, RepositoryUnavailable
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.mailbox import Obstacle, PackagesUnavailable
from callboard.messages.distribution.topic_messages import Kind, PackageMessage, State, Status
from callboard.messages.headers import new_record
from callboard.messages.record import Record
from callboard.testing.drivers.subscriber_example import LEDGER, ImporterDriver, as_read, garbage, package


def batching(stored: Ledger = LEDGER, **settings: object) -> ImporterDriver:
    return ImporterDriver(**({"batch_packages": 64} | settings)).arrive(stored)


def heavy(offset: int, **fields: object) -> Record:
    message = PackageMessage(
        publisher_instance="i",
        publisher="site",
        package_id=f"p{offset}",
        **({"kind": Kind.ADD} | fields),  # type: ignore[arg-type]
    )
    return as_read(new_record(message, record_id=str(offset), time_ns=1, producer="test"), offset)


@pytest.mark.proves("W32")
def test_all_available_packages_are_imported_in_one_transaction() -> None:
    it = batching(editable=True)
    it.read(*(package(offset) for offset in range(10, 15)))
    batch = it.done(ImportPackages)
    assert batch.offsets == (10, 11, 12, 13, 14)
    assert (batch.ledger.offset, batch.ledger.record_id, batch.ledger.imported) == (14, "14 0", 5)
    told = [(line.offset, line.status, line.attempts, line.sequence) for line in batch.ledger.outbox]
    assert told == [(offset, Status.IMPORTED, 1, offset - 9) for offset in range(10, 15)]
    assert it.state()[0] is State.IDLE


def test_a_package_alone_is_imported_at_once() -> None:
    it = batching()
    it.read(package(10))
    assert it.asked(ImportPackages).offsets == (10,)


@pytest.mark.parametrize(
    ("limit", "records"),
    [
        ({"batch_packages": 2}, [package(10), package(11), package(12)]),
        ({"batch_bytes": 100}, [heavy(10, length=50), heavy(11, length=50), heavy(12, length=1)]),
        (
            {"batch_bytes": 2 * BLOB_BYTES_ASSUMED},
            [heavy(10, blobs=("a",)), heavy(11, blobs=("b",)), heavy(12, blobs=("c",))],
        ),
        ({"outbox_max": 2, "editable": True}, [package(10), package(11), package(12)]),
    ],
)
def test_a_batch_is_bounded(limit: dict[str, object], records: list[Record]) -> None:
    it = batching(**limit)
    it.read(*records)
    assert it.done(ImportPackages).offsets == (10, 11)


def test_a_package_larger_than_a_batch_is_imported_alone() -> None:
    it = batching(batch_bytes=100)
    it.read(heavy(10, length=500), heavy(11, length=1))
    assert it.done(ImportPackages).offsets == (10,)
    assert it.done(ImportPackages).offsets == (11,)


def test_packages_that_need_no_import_are_part_of_the_batch() -> None:
    it = batching(follows=("site",))
    it.read(package(10), package(11, "other"), package(12), package(13, "other"))
    batch = it.asked(ImportPackages)
    assert batch.offsets == (10, 12)
    assert (batch.ledger.offset, batch.ledger.imported) == (13, 2)


def test_an_unreadable_package_ends_a_batch_and_then_blocks() -> None:
    it = batching()
    it.read(package(10), package(11), garbage(12), package(13))
    assert it.done(ImportPackages).offsets == (10, 11)
    assert it.state()[0] is State.BLOCKED
    assert it.report().offset == 11


@pytest.mark.parametrize("error", [BlobMissing("gone"), PackageCorrupt("wrong"), CallboardError("oops")])
def test_only_the_package_that_makes_a_batch_fail_counts_as_failed(error: CallboardError) -> None:
    it = batching(max_retries=0, on_undecodable="dead_letter")
    it.read(*(package(offset) for offset in range(10, 14)))
    it.fail(ImportPackages, error)
    for offset in (10, 11):
        assert it.done(ImportPackages).offsets == (offset,)
    culprit = it.fail(ImportPackages, error)
    assert (culprit.offsets, culprit.attempt.attempts) == ((12,), 1)
    it.save_all()
    last = it.done(ImportPackages)
    assert last.offsets == (13,)
    assert [(line.offset, line.status) for line in last.ledger.outbox] == [(12, Status.REMOVED_FAILED)]


def test_after_a_failed_batch_packages_are_imported_together_again() -> None:
    it = batching()
    it.read(package(10), package(11))
    it.fail(ImportPackages, BlobMissing("gone"))
    it.read(*(package(offset) for offset in range(12, 15)))
    assert [it.done(ImportPackages).offsets for _ in range(3)] == [(10,), (11,), (12, 13, 14)]


@pytest.mark.proves("W5")
def test_after_the_importer_died_in_a_batch_only_the_package_that_kills_it_is_given_up() -> None:
    stored, given_up, imported = LEDGER, set[int](), set[int]()
    for _ in range(10):
        it = batching(stored, max_retries=0)
        it.read(*(package(offset) for offset in range(stored.offset + 1, 16)))
        while it.asks(ImportPackages):
            tried = it.asked(ImportPackages)
            if 12 in tried.offsets:
                stored = tried.attempt  # it is stored, and then the importer dies
                break
            stored = it.done(ImportPackages).ledger
            imported |= set(tried.offsets)
        given_up |= {line.offset for line in stored.outbox}
        if stored.offset == 15:
            break
    assert imported == {10, 11, 13, 14, 15}
    assert given_up == {12}


@pytest.mark.parametrize("committed", [True, False])
def test_after_a_repository_error_the_ledger_says_whether_the_batch_was_committed(committed: bool) -> None:
    it = batching()
    it.read(package(10), package(11))
    tried = it.fail(ImportPackages, RepositoryUnavailable("disk gone"))
    it.done(OpenRepository, tried.ledger if committed else tried.attempt)
    it.save_all()
    it.read(package(12))
    assert it.asked(ImportPackages).offsets == ((12,) if committed else (10,))


def deletion(offset: int, path: str) -> Record:
    return heavy(offset, paths=(path,), kind=Kind.DELETE)


@pytest.mark.proves("W40")
def test_a_package_superseded_by_a_later_one_is_left_out_with_a_status() -> None:
    it = batching(editable=True)
    it.read(deletion(10, "/a/x"), deletion(11, "/b"), deletion(12, "/a"))
    batch = it.done(ImportPackages)
    assert batch.offsets == (11, 12)
    assert (batch.ledger.offset, batch.ledger.imported, batch.ledger.superseded) == (12, 2, 1)
    told = [(line.offset, line.status, line.reason) for line in batch.ledger.outbox]
    assert told[0] == (10, Status.SUPERSEDED, "replaced by offset 12")
    assert [status for _, status, _ in told[1:]] == [Status.IMPORTED] * 2
    assert it.state()[0] is State.IDLE


def test_if_the_batch_fails_no_package_is_left_out() -> None:
    it = batching()
    it.read(deletion(10, "/a"), deletion(11, "/a"))
    assert it.fail(ImportPackages, BlobMissing("gone")).offsets == (11,)
    assert it.done(ImportPackages).offsets == (10,)
    assert it.done(ImportPackages).offsets == (11,)
    assert it.report().superseded == 0


def test_every_package_is_imported_if_coalescing_is_off() -> None:
    it = batching(coalesce=False)
    it.read(deletion(10, "/a"), deletion(11, "/a"))
    assert it.done(ImportPackages).offsets == (10, 11)


def test_a_package_decoded_from_one_log_is_not_used_for_another() -> None:
    it = batching(on_gap="earliest")
    it.read(package(10, "site"), package(11, "site"))
    it.fail(ImportPackages, BlobMissing("gone"))
    it.fail(ImportPackages, BlobMissing("gone"))
    it.feed(PackagesUnavailable(start=12, obstacle=Obstacle.REPLACED, reason="another one"))
    it.find_bounds(first=10, log_id="log-2")
    it.save_all()
    it.read(package(10, "shop"), package(11, "shop"))
    it.tick("retry")
    (message, _) = it.asked(ImportPackages).packages
    assert message.publisher == "shop"
