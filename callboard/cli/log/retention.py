"""The configured retention, and the subscribers about to fall out of it."""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from callboard.backends.log import Capability, Retention
from callboard.board.care.retention_gate import GatePolicy, RetentionGate
from callboard.board.read.status.retention_forecast import (
    RetentionForecast,
    retention_forecast,
    server_retention,
    stricter,
)
from callboard.board.views import SubscriberStatus
from callboard.cli.terminal.output import say
from callboard.units import age

if TYPE_CHECKING:
    from callboard.board.board import Callboard
    from callboard.config import RetentionSection


def retention_gate(board: "Callboard", section: "RetentionSection") -> RetentionGate:
    """The gate that keeps needed packages on the log."""
    tip = Path(section.archive_tip) if section.archive_tip else None
    return board.retention_gate(GatePolicy(section.gate, section.gate_gone_days, tip))


async def retention_forecasts(
    board: "Callboard", section: "RetentionSection", subscribers: Iterable[SubscriberStatus]
) -> list[RetentionForecast]:
    """How long until each lagging subscriber falls out, by the trimming of publishers and of the log's server."""
    limits = section.limits() or Retention()
    if Capability.TRIM_BYTES not in board.log.capabilities:  # the server manages the size of its records
        limits = stricter(limits, await server_retention(board.settings, time.time_ns))
    return await retention_forecast(board.log, board.settings.topics.package, subscribers, limits, time.time_ns())


def warn(section: "RetentionSection", left: Iterable[RetentionForecast]) -> None:
    """Warn of the subscribers that will soon fall out."""
    for each in left:
        if not each.soon:
            continue
        if section.gate == "none":
            say(
                f"warning: {each.subscriber} falls out of retention in about {age(each.left_s)}, at the present rate "
                'and settings; speed it up, raise [retention], or set its gate = "subscribers"'
            )
        else:
            say(f"warning: {each.subscriber} is so far behind that the log exceeds [retention], or soon will")
