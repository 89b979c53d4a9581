"""A package without its content, read from its record."""

from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.distribution import PackageMessage
from callboard.messages.headers import open_record, told_in
from callboard.messages.mailbox import PackageSummary
from callboard.messages.record import Record


def summarise(record: Record) -> PackageSummary:
    """What a queue shows of a record. One that cannot be decoded is never dropped: ``problem`` says why, and the
    headers whose it is and whom it is for, by which subscribers pass it over, too.
    """
    try:
        message = open_record(record, PackageMessage)
    except (SchemaTooNew, Undecodable) as error:
        headers = told_in(record.headers)
        return PackageSummary(
            offset=record.offset,
            time_ns=record.time_ns,
            publisher=headers.get("publisher", ""),
            problem=str(error),
            recipients=tuple(filter(None, headers.get("recipients", "").split("\n"))),
        )
    return PackageSummary(
        offset=record.offset,
        time_ns=record.time_ns,
        publisher=message.publisher,
        kind=message.kind,
        package_id=message.package_id,
        length=message.fetched_bytes,
        paths=message.paths,
        deep_paths=message.deep_paths,
        user=message.user,
        recipients=message.recipients,
    )
