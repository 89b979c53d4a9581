"""Figures over time."""

from callboard.web.console.page import Question, Shown
from callboard.web.console.plots.plots import plots_of


async def plots(asked: Question) -> Shown:
    """The plots of the whole board."""
    return {"plots": plots_of(asked, "lag", "deliveries", "latency", "queues", "jobs")}
