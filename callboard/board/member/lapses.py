"""Logs when the lease of a member runs out before it is renewed, and when it is renewed again."""

from callboard.logger import get_logger
from callboard.messages.topology.member_mail import ClusterNews


class Lapses:
    """What was last known of the lease of this instance."""

    def __init__(self, instance: str) -> None:
        self._instance = instance
        self._stood: bool | None = None  # not yet

    def note(self, news: ClusterNews, *, standing: bool) -> None:
        """The member may count on its lease now, or may not."""
        log = get_logger(instance=self._instance)
        if standing:
            if self._stood is False:
                log.info("member.resumed", epoch=news.state.view.epoch)
            self._stood = True
        elif self._stood:
            why = f"{news.problem}: {news.detail}" if news.problem else "no renewal was read back in time"
            log.warning("member.lapsed", reason=why)
            self._stood = False
