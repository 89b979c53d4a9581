"""A whole page: what is around its content."""

from callboard.web.console.drawing import draw
from callboard.web.console.pages.table import PAGES
from callboard.web.user import User


def framed(title: str, content: str, user: User, base: str, *, name: str = "", live: str = "") -> str:
    """The content as a page for this user.

    Args:
        title: of the page.
        content: as HTML.
        user: who looks at it.
        base: the path at which the console is mounted.
        name: of the page in the navigation.
        live: where the browser gets the content again when it changes; empty if it does not.
    """
    shown = {"title": title, "name": name, "pages": PAGES, "content": content, "user": user}
    return draw("layout.html", live=live, base=base, **shown)
