"""What was cleared: watermarks in the ledger, each by one command, until the position is past it."""

from dataclasses import replace

from callboard.messages.ledger import Ledger, Watermark
from callboard.messages.mailbox import CommandReceived


def mark(ledger: Ledger, publisher: str, offset: int) -> Watermark | None:
    """The mark that clears this package, if one does: the first that was set of those that do."""
    covering = (mark for mark in ledger.clears if mark.publisher in ("", publisher) and offset <= mark.offset)
    return next(covering, None)


def cleared_up_to(ledger: Ledger, publisher: str) -> int:
    """Everything of this publisher up to here is marked; of all of them, if none is named. -1 if nothing is."""
    return max((mark.offset for mark in ledger.clears if mark.publisher in ("", publisher)), default=-1)


def marked(ledger: Ledger, message: CommandReceived, offset: int) -> Ledger:
    """Have the packages up to ``offset`` removed, of the publisher that the command names, if it does.

    Marks are only ever added, so a lower one does not take back a higher one, and each counts what it removed.
    """
    command = message.command
    new = Watermark(
        publisher=command.publisher,
        offset=offset,
        author=command.author,
        reason=command.reason,
        command_id=command.command_id,
        command_offset=message.offset,
    )
    return replace(ledger, clears=(*ledger.clears, new))


def why(mark: Watermark) -> str:
    """The reason of a status."""
    return f"cleared by {mark.author or 'an unknown author'}" + (f": {mark.reason}" if mark.reason else "")


def counted(ledger: Ledger, mark: Watermark, packages: int = 1) -> Ledger:
    """The mark has removed so many more packages."""
    more = replace(mark, packages=mark.packages + packages)
    return replace(ledger, clears=tuple(more if known is mark else known for known in ledger.clears))


def passed(ledger: Ledger) -> tuple[Watermark, ...]:
    """The marks that have removed all that they will: the position only ever rises."""
    return tuple(mark for mark in ledger.clears if mark.offset <= ledger.offset)
