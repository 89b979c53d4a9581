"""``callboard status``: who has what, who has not, and why not."""

from dataclasses import asdict

from callboard.app.board import Callboard
from callboard.app.outlook import Outlook
from callboard.app.views import BoardStatus, SubscriberStatus, to_data
from callboard.cli.board import on_board
from callboard.cli.options import BoardOptions, Json
from callboard.cli.output import age, count, say, show, show_json, show_table, state_text
from callboard.cli.retention import outlooks, warn


def status(options: BoardOptions, json: Json = False) -> None:
    """Show every subscriber: its state, how far behind it is, and why."""

    async def work(board: Callboard) -> tuple[BoardStatus, list[Outlook]]:
        view = await board.status()
        return view, await outlooks(board, options.load().config.retention, view.subscribers)

    view, left = on_board(options, work)
    if json:
        show_json(to_data(view) | {"outlook": [asdict(each) for each in left]})
    elif view.subscribers:
        _show(view)
    else:
        show("no subscriber was ever heard of; start one with `callboard run subscriber NAME --into DIR`")
    if view.problem and not json:
        say(f"warning: {view.problem}")
    if not json:
        warn(options.load().config.retention, left)


def _show(view: BoardStatus) -> None:
    columns = ("SUBSCRIBER", "STATE", "<LAG>", "BEHIND", "<OFFSET>", "<ERRORS>", "SEEN")
    show_table(
        columns,
        (
            (
                row.name,
                state_text(row.state if row.liveness == "live" else row.liveness),
                str(row.lag_packages) if row.lag_packages >= 0 else "?",
                age(row.lag_s) if row.lag_packages else "",
                str(row.offset) if row.offset >= 0 else "",
                str(row.errors or ""),
                age(row.seen_s),
            )
            for row in view.subscribers
        ),
    )
    for row in view.subscribers:  # below the table, where there is room for sentences
        if text := why(row):
            show(f"\n{row.name}: {text}")


def why(row: SubscriberStatus) -> str:
    """Why the subscriber does not move, and what happens next or can be done."""
    said = [row.reason or row.last_error if row.lag_packages or row.state in ("blocked", "gap") else ""]
    if row.liveness in ("silent", "gone"):
        said.insert(0, f"was {row.state} when last heard of")
    elif row.state == "retrying":
        said.append(f"next try in {age(row.next_try_s)}")
    elif row.state == "blocked" and row.editable:
        said.append(f"or pass it over: callboard clear {row.name} --first 1")
    if row.errors:
        said.append(f"{count(row.errors, 'package')} given up: callboard errors {row.name}")
    return "; ".join(text for text in said if text)
