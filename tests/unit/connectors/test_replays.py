"""Messages that were sent before are refused, also of many senders."""

from callboard.connectors import replays
from callboard.connectors.replays import WINDOW_MS, Replays


def test_only_a_higher_counter_within_the_window_is_accepted():
    it = Replays()
    now_ms = 10 * WINDOW_MS
    assert it.refused("a", 5, now_ms, now_ms) == ""
    assert "received before" in it.refused("a", 5, now_ms, now_ms)
    assert "received before" in it.refused("a", 4, now_ms, now_ms)
    assert it.refused("b", 4, now_ms, now_ms) == ""
    assert "301 s away" in it.refused("a", 6, now_ms - WINDOW_MS - 1000, now_ms)
    assert "301 s away" in it.refused("a", 6, now_ms + WINDOW_MS + 1000, now_ms)
    assert it.refused("a", 6, now_ms - WINDOW_MS, now_ms) == ""


def test_a_sender_is_forgotten_only_when_its_messages_have_expired(monkeypatch):
    monkeypatch.setattr(replays, "SENDERS_MAX", 2)
    it = Replays()
    assert [it.refused(who, 1, 0, 0) for who in "ab"] == ["", ""]
    assert "other senders" in it.refused("c", 1, WINDOW_MS, WINDOW_MS)
    assert "received before" in it.refused("a", 1, 0, WINDOW_MS)
    late_ms = 2 * WINDOW_MS + 1
    assert it.refused("c", 1, late_ms, late_ms) == ""
    assert "away" in it.refused("a", 1, 0, late_ms)
