"""What became of commands to subscribers, in words."""

from callboard.board.views import CommandResult
from callboard.units import count

DONE = {
    "clear": "skipped", "retry": "retries", "skip": "skipped", "pause": "is paused", "resume": "has resumed",
    "throttle": "has the new limit",
}  # fmt: skip
"""What a subscriber has done. The result of ``verify`` is shown by its own command."""


def told(result: CommandResult) -> str:
    """The result in a line."""
    if result.accepted is None:
        return result.reason
    if not result.accepted:
        return f"refused by {result.subscriber}: {result.reason}"
    packages = f" {count(result.packages, 'package')}" if result.command in ("clear", "skip", "retry") else ""
    reason = f" ({result.reason})" if result.reason else ""
    return f"{result.subscriber} {DONE[result.command]}{packages}{reason}"
