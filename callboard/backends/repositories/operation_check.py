"""The rules for operations that every repository enforces, on any package."""

from callboard.backends.repositories.paths import check_path, link_leaves_root
from callboard.backends.repository import EntryKind, Keep, Operation, Put
from callboard.errors import BlobDamaged, PackageCorrupt, PackageRefused, RequestRefused

TARGET_BYTES_MAX = 4095
"""The longest target of a symbolic link that Linux accepts."""


def check_operation(operation: Operation) -> None:
    """Raise ``PackageRefused`` for an operation that breaks the rules of paths, modes or links."""
    if isinstance(operation, Put):
        _check_put(operation)
        return
    _check_path(operation.path)
    if isinstance(operation, Keep):
        _check_mode(operation.path, operation.mode)


def check_content(put: Put, size: int, digest: str) -> None:
    """Raise ``PackageCorrupt``, or ``BlobDamaged`` for a blob, unless size and digest are those of the package."""
    path = put.entry.path
    if size != put.entry.size:
        wrong = f"{path} does not have {put.entry.size} bytes"
    elif put.digest and digest != put.digest:
        wrong = f"{path} does not have the digest {put.digest}"
    else:
        return
    if put.digest:
        raise BlobDamaged(
            f"{wrong}: blob {put.digest} is damaged; publish its content again with --full, which replaces it"
        )
    raise PackageCorrupt(f"{wrong}; publish it again with --full, and clear this package")


def _check_put(put: Put) -> None:
    entry = put.entry
    _check_path(entry.path)
    if entry.kind is EntryKind.LINK:
        _check_target(entry.path, entry.target)
    else:
        _check_mode(entry.path, entry.mode)
    if entry.path == "/" and entry.kind is not EntryKind.FOLDER:
        raise PackageRefused("the root is always a folder; publish below it")


def _check_path(path: str) -> None:
    try:
        check_path(path)
    except RequestRefused as error:
        raise PackageRefused(str(error)) from None


def _check_mode(path: str, mode: int) -> None:
    if not 0 <= mode <= 0o777:
        raise PackageRefused(f"mode {mode:o} of {path} has more than the nine permission bits; clear them")


def _check_target(path: str, target: str) -> None:
    try:
        size = len(target.encode())
    except UnicodeEncodeError:
        raise PackageRefused(f"the target of link {path} is not valid UTF-8; change it") from None
    if not target or "\0" in target or size > TARGET_BYTES_MAX:
        raise PackageRefused(f"the target of link {path} is empty, too long or holds a NUL; change it")
    if link_leaves_root(path, target):
        raise PackageRefused(f"link {path} to {target} could lead out of the root; make it point inside")
