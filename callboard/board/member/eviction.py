"""When an evicted instance may join again."""

from callboard.logger import get_logger
from callboard.messages.topology.member_mail import ClusterNews


class Eviction:
    """Waits until the others have settled without the instance and had an interval to notice, or for a lease.

    A member that can append but reads no answer is evicted again and again. If it always came back before the others
    have settled, none of them could begin to lead.
    """

    def __init__(self, instance: str) -> None:
        self._instance = instance
        self._over_ms: int | None = None

    def is_over(self, news: ClusterNews, now_ms: int, renew_ms: int) -> bool:
        """Whether it may join now; asked with all news after the eviction, the first of which is logged."""
        state = news.state
        if self._over_ms is None:
            get_logger().warning("member.evicted", instance=self._instance, reason=news.detail)
            self._over_ms = now_ms + (state.settings.lease_ms if state.settings is not None else 0)
        if not state.members:
            return True
        if state.view.settled == state.view.epoch:
            self._over_ms = min(self._over_ms, now_ms + renew_ms)
        return now_ms >= self._over_ms
