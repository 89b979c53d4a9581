"""``callboard jobs workers``: who runs jobs."""

from dataclasses import asdict

from callboard.cli.board import on_board
from callboard.cli.options import BoardOptions, Json
from callboard.cli.terminal.output import show, show_json, show_table


def workers(options: BoardOptions, json: Json = False) -> None:
    """Show the workers: slots, jobs that they run, topics, and which of them leases jobs to all."""
    found = on_board(options, lambda board: board.jobs.workers())
    if json:
        show_json([asdict(each) for each in found])
    elif found:
        rows = (
            (each.instance, str(each.slots), str(each.running), "yes" if each.dispatches else "",
             " ".join((*each.topics, *(f"not {topic}" for topic in each.deny))), " ".join(each.tags))
            for each in found
        )  # fmt: skip
        show_table(("WORKER", "<SLOTS>", "<RUNNING>", "DISPATCHES", "TOPICS", "TAGS"), rows)
    else:
        show("there is no worker; start one by `callboard run worker`")
