"""The rules for a request, and the package that it becomes."""

import hashlib
from dataclasses import replace

from callboard.backends.repositories.paths import check_path
from callboard.errors import RequestRefused
from callboard.messages.distribution.mailbox import DistributeRequest
from callboard.messages.distribution.topic_messages import Kind, PackageMessage


def check_request(request: DistributeRequest) -> None:
    """Check a request before any work is done for it.

    Raises:
        RequestRefused: the request breaks a rule; the message names it.
    """
    if not request.request_id:
        raise RequestRefused("the request has no id; give it one, and reuse it for retries")
    _check_text(request)
    if request.kind not in set(Kind):
        raise RequestRefused(f"kind {request.kind} is unknown; use one of {', '.join(kind.name for kind in Kind)}")
    if not request.paths and request.kind is not Kind.TEST:
        raise RequestRefused("no paths; name at least one, such as /")
    for path in request.paths:
        check_path(path)
    if strays := sorted(set(request.deep_paths).difference(request.paths)):
        raise RequestRefused(f"deep path {strays[0]!r} is not among the paths; add it there too")
    if request.kind is Kind.ADD and not request.source:
        raise RequestRefused("no source; name the folder to read the paths from")
    if not all(request.recipients):
        raise RequestRefused("a recipient has no name; name each subscriber, or none if it is for all")


def _check_text(request: DistributeRequest) -> None:
    pairs = [text for pair in request.metadata for text in pair]
    for text in (request.request_id, request.user, request.source_name, *pairs, *request.recipients):
        try:
            text.encode()
        except UnicodeEncodeError:
            raise RequestRefused(f"the text {text!r:.80} is not valid UTF-8; correct it") from None


def package_of(request: DistributeRequest, publisher: str, instance: str) -> PackageMessage:
    """The package without content, which is complete for all kinds but ADD.

    The package id follows from the request id, so that a repeated request gives the same one.
    """
    digest = hashlib.sha256(f"{publisher}\0{request.request_id}".encode())
    return PackageMessage(
        publisher_instance=instance,
        publisher=publisher,
        package_id=digest.hexdigest()[:32],
        kind=request.kind,
        paths=request.paths,
        deep_paths=request.deep_paths,
        user=request.user,
        metadata=request.metadata,
        request_id=request.request_id,
        recipients=request.recipients,
        source=request.source_name,
    )


def with_identity(built: PackageMessage, request: DistributeRequest, publisher: str, instance: str) -> PackageMessage:
    """The built package with the fields that the builder did not know."""
    known = package_of(request, publisher, instance)
    return replace(
        built,
        publisher_instance=known.publisher_instance,
        publisher=known.publisher,
        package_id=known.package_id,
        kind=known.kind,
        user=known.user,
        metadata=known.metadata,
        request_id=known.request_id,
        recipients=known.recipients,
        source=known.source,
    )


def is_empty(package: PackageMessage, at: str) -> bool:
    """Whether a built package has nothing in it but the root folder of its source, which is ``at``.

    An empty folder, such as a mount point without its mount, is not taken for the wish to remove everything.
    """
    root = at or "/"
    return package.kind is Kind.ADD and package.paths == (root,) and package.entries <= root.count("/")
