"""Answers as HTTP responses, in the envelope."""

from collections.abc import Mapping

from starlette.responses import Response

from callboard.board.envelope import Diagnostic, Envelope, enclosed, written
from callboard.errors import (
    BlobError,
    CallboardError,
    LogError,
    NotAnswered,
    OffsetOutOfRange,
    RequestRefused,
    TopicMissing,
)

HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}

RETRY_S = 5
"""When to ask again while the log is away: it tries to reconnect meanwhile."""


def answered(envelope: Envelope[object], status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """The response with this envelope."""
    body = written(envelope).encode(errors="backslashreplace")  # a lone surrogate becomes what JSON escapes it by
    return Response(body, status, {**HEADERS, **(headers or {})}, media_type="application/json")


def refused(status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """The response to a request that is not answered."""
    return answered(enclosed(None, "error", [Diagnostic(code, message)]), status, headers)


def failed(error: CallboardError) -> Response:
    """The response to a request that ended with this error."""
    status = status_of(error)
    return refused(status, error.code, str(error), {"Retry-After": str(RETRY_S)} if status == 503 else None)


def status_of(error: CallboardError) -> int:
    """The HTTP status for an error."""
    match error:
        case RequestRefused(code="unknown_name" | "not_found") | OffsetOutOfRange() | TopicMissing():
            return 404
        case RequestRefused():
            return 400
        case LogError() | BlobError() | NotAnswered():
            return 503
    return 500
