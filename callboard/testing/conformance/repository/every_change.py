"""Two packages with every possible change between them: for tests that interrupt a repository."""

from callboard.backends.repository import Delete, Keep, Operation, Prune
from callboard.testing.conformance.repository.harness import file, folder, link

OLD: tuple[Operation, ...] = (
    file("/same", "same"),
    file("/changed", "old"),
    file("/mode", "mode", 0o600),
    file("/gone", "gone"),
    file("/to-folder", "file"),
    file("/to-link", "file"),
    link("/link-to-file", "same"),
    link("/link-to-folder", "d"),
    file("/folder-to-file/in/side", "x"),
    file("/folder-to-link/in/side", "x", 0o444),
    folder("/folder-to-link/in", 0o555),
    file("/pruned/keep", "keep"),
    file("/pruned/old/a", "a"),
    file("/pruned/old/b", "b"),
    file("/locked/file", "old", 0o444),
    folder("/locked", 0o555),
    file("/d/e/f", "f"),
)
"""Applied to an empty repository."""

NEW: tuple[Operation, ...] = (
    Keep("/", 0o755),
    file("/new", "n" * 100_000),
    folder("/empty", 0o700),
    file("/changed", "new", 0o640),
    file("/mode", "mode", 0o644),
    Delete("/gone"),
    Delete("/never/there"),
    file("/to-folder/in/side", "new"),
    folder("/to-folder", 0o555),
    link("/to-link", "same"),
    file("/link-to-file", "file"),
    file("/link-to-folder/inside", "x"),
    file("/folder-to-file", "file"),
    link("/folder-to-link", "d"),
    file("/pruned/new", "new"),
    Prune("/pruned", frozenset(["/pruned/keep", "/pruned/new"])),
    file("/locked/file", "new", 0o444),
    Delete("/d"),
    Keep("/d", 0o711),
    file("/d/e", "now a file"),
    file("/twice", "first"),
    file("/twice", "second"),
    file("/ü/日本", "unicode"),
)
"""Applied after ``OLD``."""
