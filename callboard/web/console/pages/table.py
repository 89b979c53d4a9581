"""The pages of the console, in the order of the navigation."""

from callboard.web.console.page import Page
from callboard.web.console.pages.fleet import fleet

PAGES = (Page("fleet", "/", "Fleet", fleet),)
