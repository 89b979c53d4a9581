"""Questions that are also answered for ``SITE/SUBSCRIBER``; what only sites need is loaded with the first of these."""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, TypeVar, cast

from callboard.board.context import BoardContext
from callboard.board.site_status import SiteStatus
from callboard.door.limits import ANSWER_S
from callboard.messages.headers import SEPARATOR

F = TypeVar("F", bound=Callable[..., Awaitable[Any]])


def across(question: F) -> F:
    """The question about a subscriber, also about one of a site. Its answer then has offsets of this board's log, and
    -1 for packages that are not from here. Without the site's log, it is what the relay says.

    Raises as the question, and ``RequestRefused`` for what is not known here.
    """

    @wraps(question)
    async def ask(board: BoardContext, *args: Any, **options: Any) -> Any:
        subscriber = options.get("subscriber", args[0] if args else "")
        if not isinstance(subscriber, str) or SEPARATOR not in subscriber:
            return await question(board, *args, **options)
        from callboard.board.read.sites.asking import ask_at_site

        return await ask_at_site(question, board, *args, **options)

    return cast("F", ask)


async def site_status(board: BoardContext, site: str, *, timeout_s: float = ANSWER_S) -> SiteStatus:
    """The site of this relay, or what is known of one ``SITE/SUBSCRIBER``. Names all of its subscribers if the site's
    log is configured and answers, else those that the relay names.

    Raises ``RequestRefused`` for a name that is not one of a relay, or of its site.
    """
    from callboard.board.read.sites import asking

    return await asking.site_status(board, site, timeout_s=timeout_s)
