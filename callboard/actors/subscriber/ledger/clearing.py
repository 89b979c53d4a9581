"""Clears: watermarks in the ledger, one per command, until the position is past them."""

from dataclasses import replace

from callboard.actors.subscriber.ledger.ledger_changes import AUTHOR_MAX, text
from callboard.messages.bounds import clipped
from callboard.messages.distribution.ledger import Ledger, Watermark
from callboard.messages.distribution.mailbox import CommandReceived


def mark(ledger: Ledger, publisher: str, offset: int) -> Watermark | None:
    """The mark that clears this package, if any: of several, the one set first."""
    covering = (
        mark for mark in ledger.clears if mark.publisher in ("", publisher) and mark.after < offset <= mark.offset
    )
    return next(covering, None)


def is_marked(ledger: Ledger, publisher: str, after: int, offset: int) -> bool:
    """Whether the packages of this publisher (empty: of all) after ``after`` up to ``offset`` are all marked."""
    marks = (mark for mark in ledger.clears if mark.publisher in ("", publisher))
    return any(mark.after <= after and offset <= mark.offset for mark in marks)


def marked(ledger: Ledger, message: CommandReceived, offset: int) -> Ledger:
    """Mark the packages up to ``offset`` to be removed, of the publisher that the command names, if it does.

    Packages that the author took for processed are not marked: if an older copy of the repository is in use since, it
    still has them before it, and imports them.

    Marks are only ever added, so a lower one does not undo a higher one, and each counts what it removed.
    """
    command = message.command
    new = Watermark(
        publisher=command.publisher,
        offset=offset,
        after=command.position,
        author=clipped(command.author, AUTHOR_MAX),
        reason=text(command.reason),
        command_id=command.command_id,
        command_offset=message.offset,
    )
    return replace(ledger, clears=(*ledger.clears, new))


def why(mark: Watermark) -> str:
    """The reason in a status."""
    return f"cleared by {mark.author or 'an unknown author'}" + (f": {mark.reason}" if mark.reason else "")


def counted(ledger: Ledger, mark: Watermark, packages: int = 1) -> Ledger:
    """The mark has removed this many more packages."""
    more = replace(mark, packages=mark.packages + packages)
    return replace(ledger, clears=tuple(more if known is mark else known for known in ledger.clears))


def passed(ledger: Ledger) -> tuple[Watermark, ...]:
    """The marks that will remove no more: the position only ever rises."""
    return tuple(mark for mark in ledger.clears if mark.offset <= ledger.offset)
