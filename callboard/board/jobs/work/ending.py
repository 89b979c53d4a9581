"""How an attempt ended, as it is reported."""

from dataclasses import dataclass, field

from callboard.board.jobs.new_job import encoded
from callboard.errors import CallboardError, CancelJob, RequestRefused, RetryJob
from callboard.messages.jobs.job_messages import JobEnd, Outcome
from callboard.messages.jobs.limits import MS_MAX, RESULT_BYTES_MAX

TEXT_MAX = 2000
"""Characters of a message that are kept."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How an attempt ended; with the error, if it was none by which the function says how it has ended."""

    outcome: Outcome
    message: str = ""
    result: bytes = b""
    retry_ms: int = -1
    error: BaseException | None = field(default=None, compare=False, repr=False)

    def at(self, place: int) -> JobEnd | None:
        """What there is to say besides the outcome."""
        if self.message or self.result or self.retry_ms >= 0:
            return JobEnd(job=place, message=self.message, result=self.result, retry_ms=self.retry_ms)
        return None


SUCCEEDED, RETURNED = Ending(Outcome.SUCCEEDED), Ending(Outcome.RETURNED)


def succeeded(value: object) -> Ending:
    """The end of a job with this result. Raises ``RequestRefused`` for one that no record can hold."""
    if value is None:
        return SUCCEEDED
    result = encoded(value)
    if len(result) > RESULT_BYTES_MAX:
        raise RequestRefused(
            f"the result has {len(result)} bytes, and the most is {RESULT_BYTES_MAX}; return where it is kept"
        )
    return Ending(Outcome.SUCCEEDED, result=result)


def failed(error: BaseException, *, retry_exceptions: bool) -> Ending:
    """The end of a job that raised this; other errors than ``RetryJob`` are tried again if ``retry_exceptions``."""
    match error:
        case RetryJob():
            return Ending(Outcome.FAILED, printable(error), retry_ms=_delay_ms(error.delay_s))
        case CancelJob():
            return Ending(Outcome.CANCELLED, printable(error))
    text = printable(error) if isinstance(error, CallboardError) else f"{type(error).__name__}: {printable(error)}"
    return Ending(Outcome.FAILED if retry_exceptions else Outcome.CANCELLED, text[:TEXT_MAX], error=error)


def printable(text: object, most: int = TEXT_MAX) -> str:
    """The text, as a record can hold it."""
    try:
        return str(text)[:most].encode(errors="replace").decode()
    except Exception as unsaid:  # noqa: BLE001 - the text is of an error of the service
        return f"its text cannot be known: {type(unsaid).__name__}"


def _delay_ms(delay_s: float | None) -> int:
    """Milliseconds within the limits; -1 for the queue's."""
    if not isinstance(delay_s, int | float) or delay_s != delay_s:  # noqa: PLR0124 - not a number
        return -1
    return int(min(max(0.0, delay_s * 1000), MS_MAX - 1))
