"""A package without its content, read from its record."""

from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.distribution import PackageMessage
from callboard.messages.headers import open_record
from callboard.messages.mailbox import PackageSummary
from callboard.messages.record import Record


def summarise(record: Record) -> PackageSummary:
    """What a queue shows of a record. One that cannot be decoded is never dropped: ``problem`` says why, and the header
    of whom it is, by which subscribers that do not follow that one pass it over, too.
    """
    try:
        message = open_record(record, PackageMessage)
    except (SchemaTooNew, Undecodable) as error:
        publisher = record.header("publisher")
        return PackageSummary(offset=record.offset, time_ns=record.time_ns, publisher=publisher, problem=str(error))
    return PackageSummary(
        offset=record.offset,
        time_ns=record.time_ns,
        publisher=message.publisher,
        kind=message.kind,
        package_id=message.package_id,
        length=len(message.content) or message.length,  # what is here needs not be believed
        paths=message.paths,
        deep_paths=message.deep_paths,
        user=message.user,
    )
