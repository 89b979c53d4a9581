"""The pages of the console, in the order of the navigation."""

from callboard.web.console.page import Page
from callboard.web.console.pages.content import content
from callboard.web.console.pages.errors import errors
from callboard.web.console.pages.fleet import fleet
from callboard.web.console.pages.folds import folds
from callboard.web.console.pages.jobs import job, jobs, life
from callboard.web.console.pages.log import FILTERS, log
from callboard.web.console.pages.package import package
from callboard.web.console.pages.paths import paths
from callboard.web.console.pages.plots import plots
from callboard.web.console.pages.record import record
from callboard.web.console.pages.schedules import schedules
from callboard.web.console.pages.subscriber import at_site, subscriber
from callboard.web.console.pages.topology import changes, topology, view

PAGES = (
    Page("fleet", "/", "Fleet", fleet),
    Page("errors", "/errors", "Errors", errors),
    Page("paths", "/paths", "Paths", paths, live=False, searches=True),
    Page("log", "/log", "Log", log, still=FILTERS, searches=True),
    Page("topology", "/topology", "Topology", topology),
    Page("jobs", "/jobs", "Jobs", jobs, still=frozenset({"after", "where"}), searches=True),
    Page("schedules", "/schedules", "Schedules", schedules),
    Page("folds", "/folds", "Folds", folds),
    Page("plots", "/plots", "Plots", plots),
    Page("view", "/topology/views/{epoch}", "View", view, in_navigation=False, live=False, searches=True),
    Page("changes", "/topology/changes", "Changes", changes, in_navigation=False, live=False, searches=True),
    Page("job", "/jobs/{id}", "Job", job, in_navigation=False),
    Page("life", "/jobs/{id}/life", "Life of job", life, in_navigation=False, live=False, searches=True),
    Page("at_site", "/subscribers/{site}/{name:path}", "Subscriber", at_site, in_navigation=False),
    Page("subscriber", "/subscribers/{name:path}", "Subscriber", subscriber, in_navigation=False),
    Page("package", "/packages/{offset}", "Package", package, in_navigation=False),
    Page("content", "/packages/{offset}/content", "Content of package", content, in_navigation=False, live=False),
    Page("record", "/log/{topic}/{offset}", "Record", record, in_navigation=False, live=False),
)
