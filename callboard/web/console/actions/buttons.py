"""The buttons that open the forms of actions."""

from markupsafe import Markup

from callboard.board.views import SubscriberStatus
from callboard.web.console.actions.table import ACTIONS
from callboard.web.console.drawing import draw
from callboard.web.console.page import Question


def buttons_of(asked: Question, *names: str, **target: str | int) -> Markup:
    """Buttons for these actions, of ``ACTIONS``, on this target; none for users who may not act."""
    if not asked.acts:
        return Markup()
    shown = {"actions": [ACTIONS[name] for name in names], "target": target, "base": asked.base}
    return Markup(draw("actions/buttons.html", **shown))  # noqa: S704 - the template escapes what is written into it


def subscriber_buttons(asked: Question, row: SubscriberStatus) -> Markup:
    """Those that make sense for a subscriber in its state."""
    has_head = row.head_offset >= 0
    sensible = {
        "retry": has_head, "pause": row.state != "paused", "resume": row.state == "paused", "throttle": True,
        "clear": row.editable and (row.lag_packages > 0 or row.held > 0),
    }  # fmt: skip
    found = buttons_of(asked, *(name for name, so in sensible.items() if so), subscriber=row.name)
    if has_head and row.editable:
        found += buttons_of(asked, "skip", subscriber=row.name, offset=row.head_offset)
    return found
