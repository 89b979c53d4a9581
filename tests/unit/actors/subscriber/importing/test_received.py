import pytest

from callboard.actors.subscriber.importing.received import Received, received
from callboard.errors import Undecodable
from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from callboard.messages.headers import RECIPIENTS_BYTES_MAX, new_record
from callboard.messages.record import Record
from callboard.testing.drivers.subscriber_example import NAME, as_read, package, settings


def addressed_to(*recipients: str, payload: bytes | None = None) -> Record:
    message = PackageMessage(
        publisher_instance="i", publisher="site", package_id="p", kind=Kind.ADD, recipients=recipients
    )
    record = as_read(new_record(message, record_id="r", time_ns=1, producer="test"), 10)
    if payload is None:
        return record
    return Record(offset=10, time_ns=0, payload=payload, header_block=record.header_block)


def opened(record: Record, **others: object) -> Received:
    return received(record, settings(**others))


@pytest.mark.parametrize("recipients", [(), (NAME,), ("other", NAME), (NAME, "a\nb")])
def test_a_package_for_this_subscriber_is_opened(recipients: tuple[str, ...]) -> None:
    it = opened(addressed_to(*recipients))
    assert it.message is not None
    assert (it.offset, it.record_id, it.publisher) == (10, "r 0", "site")


@pytest.mark.proves("F77", "W34", "F9")
def test_a_package_for_others_is_skipped_without_decoding_it() -> None:
    assert opened(addressed_to("other", "another", payload=b"\xff\xff")).foreign
    assert isinstance(opened(addressed_to("other", NAME, payload=b"\xff\xff")).problem, Undecodable)


@pytest.mark.parametrize("recipients", [("a\nb",), ("a\0b",), ("x" * RECIPIENTS_BYTES_MAX, "y")])
def test_recipients_that_do_not_fit_a_header_are_found_in_the_message(recipients: tuple[str, ...]) -> None:
    record = addressed_to(*recipients)
    assert record.header("recipients") == ""
    assert opened(record).foreign
    assert opened(addressed_to(*recipients, NAME)).message is not None


def test_a_package_of_a_publisher_that_is_not_followed_is_foreign() -> None:
    assert opened(package(10, "other"), follows=("site",)).foreign
    assert not opened(package(10, "site"), follows=("site",)).foreign


def test_a_test_package_is_foreign() -> None:
    assert opened(package(10, kind=Kind.TEST)).foreign
