"""Bugs in what becomes of packages."""

from typing import Any

from callboard.actors.publisher.errors.error_queue import ErrorQueues
from callboard.actors.publisher.queues.package_index import PackageIndex
from callboard.actors.subscriber.importing import coalescing, next_package
from callboard.actors.subscriber.importing.backlog import Backlog
from callboard.actors.subscriber.ledger import clearing, ledger_changes
from callboard.actors.subscriber.quarantine import quarantine
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.backends.repository import Delete, Prune
from callboard.content import collection
from callboard.testing.fakes import memory_repository
from callboard.testing.simulation.planted.patch import Patch


def _impatient(right: Any, error: Any, attempts: int, settings: Any) -> Any:
    return right(error, attempts + 1, settings)


def _one_more(right: Any, ledger: Any, publisher: str, offset: int) -> Any:
    return right(ledger, publisher, offset - 1)


def _of_everybody(right: Any, ledger: Any, publisher: str, offset: int) -> Any:
    found = [each for each in ledger.clears if each.offset >= offset]
    return found[0] if found else right(ledger, publisher, offset)


def _greedy(right: Any, later: Any, earlier: Any, between: Any) -> bool:
    shared = (later.trees | later.nodes) & (earlier.trees | earlier.nodes)
    below = any(path.startswith(f"{folder}/") for path in later.trees for folder in earlier.trees)
    return bool(shared or below or right(later, earlier, between))


def _nothing_is_touched(right: Any, self: Any, message: Any) -> Any:
    return right(self, message)[:0]


def _equal_paths(right: Any, self: Any, message: Any) -> Any:
    return tuple(each for each in right(self, message) if set(each.paths) & set(message.paths))


def _everybodys(right: Any, self: Any, publisher: str) -> bool:
    return right(self, publisher) or bool(publisher)


def _no_prune(right: Any, tree: Any, operation: Any) -> None:
    if not isinstance(operation, Prune):
        right(tree, operation)


def _shallow_delete(right: Any, tree: Any, operation: Any) -> None:
    if isinstance(operation, Delete):
        tree.pop(operation.path, None)
    else:
        right(tree, operation)


def _no_references(right: Any, event: Any) -> tuple[str, ...]:
    return right(event)[:0]  # type: ignore[no-any-return]


def _skip_one(right: Any, self: Any, publisher: str, after: int) -> Any:
    return right(self, publisher, after + 1)


def _old_news(right: Any, self: Any, known: Any) -> None:
    if known.offset < 0:
        right(self, known)


def _drops_two(right: Any, self: Any, offset: int) -> None:
    right(self, offset + 1)


def _outbox_unsorted(right: Any, ledger: Any, about: Any, status: Any, *others: Any) -> Any:
    return right(ledger, about, type(status).IMPORTED, *others)


BUGS = (
    Patch("a package is given up one try too soon", next_package, "judge", _impatient),
    Patch("a clear takes one package too many", clearing, "mark", _one_more),
    Patch("a clear takes the packages of every publisher", clearing, "mark", _of_everybody),
    Patch("a package is left out if any later one touches its paths", coalescing, "supersedes", _greedy),
    Patch("what is held is overtaken", quarantine.HeldPaths, "touched_by", _nothing_is_touched),
    Patch("only the same path waits for what is held", quarantine.HeldPaths, "touched_by", _equal_paths),
    Patch("every publisher is followed", SubscriberSettings, "follows_publisher", _everybodys),
    Patch("a repository does not prune", memory_repository, "_carry_out", _no_prune),
    Patch("a repository removes a folder, not what is in it", memory_repository, "_carry_out", _shallow_delete),
    Patch("the janitor removes what is referred to", collection, "_references", _no_references),
    Patch("a queue begins one offset too late", PackageIndex, "queue", _skip_one),
    Patch("errors stay in their queue for ever", ErrorQueues, "_settle", _old_news),
    Patch("the backlog drops one record too many", Backlog, "drop", _drops_two),
    Patch("every status says imported", ledger_changes, "reported", _outbox_unsorted),
)
