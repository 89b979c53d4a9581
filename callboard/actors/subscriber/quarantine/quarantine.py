"""The packages in quarantine, kept in the ledger: pure functions from one ledger to the next.

A package that was given up is held if ``importing/failure_policy.py`` says so. Every later one that touches the same
paths, or those of another held package, follows it (``HeldPaths.before``). All others are imported. A package is
released, and due, once no earlier one that it touches is held any more. Folders that merely lead to a path are not
touched: siblings do not wait for each other.
"""

from collections.abc import Iterable
from dataclasses import replace

from callboard.actors.subscriber.ledger import ledger_changes
from callboard.backends.repositories.paths import Trees
from callboard.content.package_format.footprint import Footprint, footprint
from callboard.messages.distribution.ledger import HeldPackage, Ledger
from callboard.messages.distribution.topic_messages import Kind, PackageMessage, Status

HELD_MAX = 1000
"""Packages that can be held: more cannot be handled one by one."""
HELD_BYTES_MAX = 256 << 10
"""Bytes of all held packages, which are written with every import."""
HELD_BYTES_EACH = 64
"""About what a held package takes besides its texts."""
REASON_MAX = 300
"""Characters of the reason kept with a package; its status has more."""


def touch(one: Iterable[str], other: Iterable[str]) -> bool:
    """Whether a path of one equals a path of the other, or lies above or below one."""
    return Trees(one).touch(other)


class HeldPaths:
    """The paths of all held packages, to be checked for many packages."""

    def __init__(self, held: tuple[HeldPackage, ...]) -> None:
        self.held = held
        self._trees = Trees(path for each in held for path in each.paths)

    def touched_by(self, message: PackageMessage) -> tuple[HeldPackage, ...]:
        """The held packages that this one touches."""
        if not self._trees.touch(message.paths):
            return ()
        its = Trees(message.paths)
        return tuple(each for each in self.held if its.touch(each.paths))

    def before(self, message: PackageMessage) -> HeldPackage | None:
        """The last held package that this one touches and must not overtake; None if it supersedes all of them."""
        touched = self.touched_by(message)
        after = footprint(message) if touched else Footprint()
        return None if all(replaces(after, each) for each in touched) else touched[-1]


def find(ledger: Ledger, offset: int) -> HeldPackage | None:
    """The held package at this offset."""
    return next((each for each in ledger.held if each.offset == offset), None)


def due(ledger: Ledger) -> HeldPackage | None:
    """The first held package to be retried."""
    return next((each for each in ledger.held if each.due), None)


def replaces(later: Footprint, held: HeldPackage) -> bool:
    """Whether the later package fully supersedes the held one."""
    spared = held.kind is Kind.DELETE and "/" in later.trees
    return all(later.covers(path) or (path == "/" and spared) for path in held.paths)


def no_room(ledger: Ledger, message: PackageMessage) -> str:
    """Why the package cannot be held, and what to do about it; empty if it can."""
    size = sum(_bytes_of(each) for each in ledger.held) + _bytes_of(_entry(0, message)) + REASON_MAX
    if len(ledger.held) < HELD_MAX and size <= HELD_BYTES_MAX:
        return ""
    first = ledger.held[0].offset if ledger.held else -1
    todo = f"callboard retry or skip them, beginning with offset {first}, or clear them" if ledger.held else "skip it"
    return f"no room to quarantine another package: {len(ledger.held)} are held; {todo}"


def hold(ledger: Ledger, offset: int, message: PackageMessage, attempts: int, reason: str, now_ns: int) -> Ledger:
    """Hold the package. It waits for earlier held packages that it touches."""
    entry = replace(_entry(offset, message), attempts=attempts, reason=reason[:REASON_MAX], time_ns=now_ns)
    entry = replace(entry, waits_for=_before(ledger.held, entry))
    return replace(ledger, held=tuple(sorted((*ledger.held, entry), key=lambda each: each.offset)))


def recalled(ledger: Ledger, offset: int, message: PackageMessage, now_ns: int) -> Ledger:
    """Have a package retried that was given up and left out."""
    ledger = hold(ledger, offset, message, 0, "", now_ns)
    entry = find(ledger, offset)
    return _changed(ledger, offset, due=entry is not None and entry.waits_for < 0)


def retried(ledger: Ledger, offset: int) -> Ledger:
    """Have it retried, with all its attempts."""
    return _changed(ledger, offset, due=True, attempts=0)


def attempting(ledger: Ledger, offset: int) -> Ledger:
    """One more attempt at it; store this before the attempt."""
    entry = find(ledger, offset)
    return _changed(ledger, offset, attempts=entry.attempts + 1) if entry else ledger


def not_counted(ledger: Ledger, offset: int, reason: str) -> Ledger:
    """The attempt failed for a reason outside the package."""
    entry = find(ledger, offset)
    attempts = entry.attempts - 1 if entry and entry.attempts else 0
    return _changed(ledger, offset, attempts=attempts, reason=reason[:REASON_MAX])


def failed(ledger: Ledger, offset: int, reason: str, now_ns: int, *, is_last: bool) -> Ledger:
    """The attempt failed. After the last one the package stays held, and the reason is reported."""
    ledger = _changed(ledger, offset, due=not is_last, reason=reason[:REASON_MAX])
    entry = find(ledger, offset)
    return _reported(ledger, entry, Status.HELD, reason, now_ns) if is_last and entry else ledger


def ended(ledger: Ledger, offset: int, status: Status, reason: str, now_ns: int) -> Ledger:
    """It is no longer held, with this status; packages that waited for it are due unless they wait for others, too."""
    entry = find(ledger, offset)
    if entry is None:
        return ledger
    left = tuple(each for each in ledger.held if each.offset != offset)
    released = tuple(_released(left, each) if each.waits_for == offset else each for each in left)
    after = replace(
        ledger,
        held=released,
        imported=ledger.imported + (status is Status.IMPORTED),
        cleared=ledger.cleared + (status is Status.REMOVED),
        superseded=ledger.superseded + (status is Status.SUPERSEDED),
        skipped=ledger.skipped + (status is Status.SKIPPED),
    )
    return _reported(after, entry, status, reason, now_ns)


def superseded(ledger: Ledger, held: Iterable[HeldPackage], by: int, now_ns: int) -> Ledger:
    """The package at the offset ``by`` was imported, which fully supersedes these."""
    # In reverse, so that none of them is released in between.
    for each in sorted(held, key=lambda each: -each.offset):
        ledger = ended(ledger, each.offset, Status.SUPERSEDED, f"replaced by offset {by}", now_ns)
    return ledger


def clearable(ledger: Ledger, publisher: str, offset: int) -> tuple[HeldPackage, ...]:
    """The held packages that a clear up to this offset covers, of this publisher (empty: of all)."""
    return tuple(each for each in ledger.held if each.offset <= offset and publisher in ("", each.publisher))


def cleared(ledger: Ledger, publisher: str, offset: int, reason: str, now_ns: int) -> Ledger:
    """Drop all of these."""
    for each in reversed(clearable(ledger, publisher, offset)):
        ledger = ended(ledger, each.offset, Status.REMOVED, reason, now_ns)
    return ledger


def _entry(offset: int, message: PackageMessage) -> HeldPackage:
    return HeldPackage(
        offset=offset,
        publisher=message.publisher,
        package_id=message.package_id,
        kind=message.kind,
        paths=message.paths,
        deep_paths=message.deep_paths,
    )


def _before(held: tuple[HeldPackage, ...], entry: HeldPackage) -> int:
    its = Trees(entry.paths)
    touched = (each.offset for each in held if each.offset < entry.offset and its.touch(each.paths))
    return max(touched, default=-1)


def _released(held: tuple[HeldPackage, ...], entry: HeldPackage) -> HeldPackage:
    """What it waited for is gone. One that failed itself still waits for a command."""
    waits_for = _before(held, entry)
    return replace(entry, waits_for=waits_for, due=waits_for < 0 and entry.attempts == 0)


def _changed(ledger: Ledger, offset: int, **changes: object) -> Ledger:
    changed = (replace(each, **changes) if each.offset == offset else each for each in ledger.held)  # type: ignore[arg-type]
    return replace(ledger, held=tuple(changed))


def _reported(ledger: Ledger, entry: HeldPackage, status: Status, reason: str, now_ns: int) -> Ledger:
    """Tell the publisher, even if the subscriber is not editable: it has the package as held."""
    return ledger_changes.reported(ledger, entry, status, reason, entry.attempts, now_ns)


def _bytes_of(entry: HeldPackage) -> int:
    texts = (*entry.paths, *entry.deep_paths, entry.publisher, entry.package_id, entry.reason)
    return HELD_BYTES_EACH + sum(len(text.encode()) + 3 for text in texts)
