"""The golden gate: a package passes only after the golden subscriber's explicit verdict on it."""

from collections.abc import Iterator
from datetime import UTC, datetime
from shlex import quote

from callboard.actors.core.decision import Moment, Send
from callboard.actors.subscriber import roles
from callboard.actors.subscriber.gates.gate import Leave, Wait
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.mailbox import Verdicts, VerdictsWanted
from callboard.messages.distribution.topic_messages import (
    DiscoveryMessage,
    PackageMessage,
    PackageStatusMessage,
    State,
    Status,
)

GOOD = (Status.IMPORTED, Status.SUPERSEDED, Status.HOOK_FAILED, Status.HOOK_SETTLED)
"""The golden subscriber has the content, or what came after it."""

AGAIN_S = 15.0
"""How often the reason is rebuilt without news: it includes the golden subscriber's silence."""

SILENT_NS = 60 * 10**9
"""An older announcement of the golden subscriber says how it was, not how it is."""


class GoldenGate:
    """Lets a package pass once the golden subscriber has it, and skips what the golden one left out.

    Nothing is concluded from verdicts on other packages. A package that is not addressed to the golden subscriber
    passes, since there will be no verdict on it.
    """

    def __init__(self, golden: str, subscriber: str) -> None:
        self._golden = golden
        self._subscriber = subscriber
        self._known = Verdicts(offset=-1)
        self._verdicts: dict[int, PackageStatusMessage] = {}
        self._missing = False  # whether a package waits for a verdict that is not known
        self._wished = -1
        self._since: tuple[int, int] = (-1, 0)  # the package that waits, and since when

    def judge(self, offset: int, message: PackageMessage, ledger: Ledger, now: Moment) -> Wait | Leave | None:
        """See ``Gate``."""
        if ledger.without_golden == offset or (message.recipients and self._golden not in message.recipients):
            return None
        verdict = self._verdicts.get(offset)
        if verdict is None or verdict.package_id not in ("", message.package_id):
            self._missing = True
            return Wait(State.STAGED, self._explain(offset, message, ledger, now), AGAIN_S)
        if verdict.status in GOOD:
            return None
        reason = f": {verdict.reason}" if verdict.reason else ""
        if verdict.status is Status.HELD:
            self._missing = True
            why = f"{self._golden} has offset {offset} in quarantine{reason}"
            return Wait(State.STAGED, f"{why}; handle it there: callboard errors {quote(self._golden)}", AGAIN_S)
        return Leave(Status.SKIPPED, f"left out by {self._golden} ({verdict.status.name.lower()}){reason}")

    def hear(self, verdicts: Verdicts) -> None:
        """Take the golden watcher's verdicts."""
        self._known = verdicts
        self._verdicts = {status.offset: status for status in verdicts.verdicts}

    def wish(self, position: int) -> Iterator[Send]:
        """Ask the golden watcher, once, if a verdict is missing and everything up to ``position`` is finished."""
        missing, self._missing = self._missing, False
        if missing and self._wished != position + 1:
            self._wished = position + 1
            yield Send(roles.GOLDEN_WATCHER, VerdictsWanted(offset=self._wished))

    def forget_wish(self) -> None:
        """The golden watcher has lost the request: ask again."""
        self._wished = -1

    def _explain(self, offset: int, message: PackageMessage, ledger: Ledger, now: Moment) -> str:
        if self._since[0] != offset:
            self._since = (offset, now.wall_ns)
        since = _time(self._since[1])
        why = self._why(offset, message, ledger, now)
        return f"waits for {self._golden}'s verdict on offset {offset} since {since}; {why}"

    def _why(self, offset: int, message: PackageMessage, ledger: Ledger, now: Moment) -> str:
        known, name, golden = self._known, self._golden, self._known.golden
        without = f"callboard retry {quote(self._subscriber)} --without-golden"
        if known.problem:
            return f"the status topic cannot be read: {known.problem}"
        if known.offset != self._wished or not 0 <= known.offset <= offset:
            return "its verdicts are being read"
        if golden is None:
            return f"{name} was never heard of on this log; start it, or import the package anyway: {without}"
        follows = golden.configuration.follows
        if follows and message.publisher not in follows:
            return f"{name} does not follow {message.publisher!r}, so there will be none; change that, or {without}"
        if golden.log_id == ledger.log_id and golden.offset >= offset:
            fix = "" if golden.configuration.editable else f"start {name} with editable = true, so that it reports; "
            return (
                f"{name} is past it, at offset {golden.offset}, and its verdict is not on the status topic: trimmed, "
                f"or never sent; {fix}import the package anyway: {without}"
            )
        return _state(golden, self._subscriber, now)


def _state(golden: DiscoveryMessage, subscriber: str, now: Moment) -> str:
    if golden.configuration.golden == subscriber:
        stop = f"start one of them without golden; or, for this package alone, callboard retry {quote(subscriber)}"
        return f"{golden.subscriber} itself waits for {subscriber}, so neither continues: {stop} --without-golden"
    state = golden.state.name.lower()
    reason = f": {golden.reason or golden.last_error}" if golden.reason or golden.last_error else ""
    if golden.state is State.STAGED:
        # Its reason names the one that it waits for, whose reason may name us: the text would grow for ever.
        reason = f": waits for the verdict of {golden.configuration.golden}"
    doing = f"{state} at offset {golden.offset}{reason}"
    if now.wall_ns - golden.time_ns > SILENT_NS:
        return f"{golden.subscriber} was {doing} when last heard from, at {_time(golden.time_ns)}"
    return f"{golden.subscriber} is {doing}"


def _time(time_ns: int) -> str:
    return f"{datetime.fromtimestamp(time_ns // 10**9, UTC):%Y-%m-%d %H:%M:%S} UTC"
