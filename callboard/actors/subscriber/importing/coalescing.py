"""Which packages need no import because a later one, imported together with them, fully supersedes them."""

from collections.abc import Callable, Sequence
from functools import cache

from callboard.backends.repositories.paths import with_parents
from callboard.content.package_format.footprint import Footprint, footprint, supersedes
from callboard.messages.distribution.topic_messages import PackageMessage

Packages = Sequence[tuple[int, PackageMessage]]


def superseded(packages: Packages) -> dict[int, int]:
    """By offset of a superseded package, the offset of the package that replaces it, which is itself imported.

    The repository ends up exactly as if all of them were imported, in every mode of every folder: only packages that
    would leave no trace are skipped. Most packages are found to be needed by looking at their paths alone.
    """
    print_of = cache(lambda at: footprint(packages[at][1]))
    found: dict[int, int] = {}
    kept: dict[str, list[int]] = {}  # the later packages that are imported, by their paths

    for at in range(len(packages) - 1, -1, -1):
        offset, message = packages[at]
        later = sorted({other for path in with_parents(message.paths[:1]) for other in kept.get(path, ())})
        successor = next((other for other in later if _replaces(other, at, print_of)), None)
        if successor is not None:
            found[offset] = packages[successor][0]
            continue
        for path in message.paths:
            kept.setdefault(path, []).append(at)
    return found


def _replaces(later: int, earlier: int, print_of: Callable[[int], Footprint]) -> bool:
    between = (print_of(at) for at in range(earlier + 1, later))
    return supersedes(print_of(later), print_of(earlier), between)
