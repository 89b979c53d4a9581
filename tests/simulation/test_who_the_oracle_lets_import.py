"""The oracle of names: which instance may import if the topic no longer shows everything."""

from callboard.actors.subscriber.effects import Permit
from callboard.testing.drivers.subscriber_example import NAME, announcement
from callboard.testing.simulation.distribution.oracles.tenants import Tenants, Who


class Topic:
    """Announcements to the oracle, of claims that live for three seconds."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.hasty: list[str] = []
        self.tenants = Tenants(lambda: round(self.now_s * 1e9), hasty=self.hasty.append)
        self._end = 0

    def say(self, place: str, takes_over: int = -1, term: int = -1) -> int:
        self._end += 1
        said = announcement(place, place=place, lease_ms=3000, takes_over=takes_over, term=term)
        self.tenants.heard(said, self._end)
        return self._end

    def rival_of(self, place: str) -> Who | None:
        permit = Permit(until_ms=round(self.now_s * 1000) + 3000)
        return self.tenants.rival(NAME, (place, place), permit, self.now_s)


def test_on_a_shortened_topic_either_of_two_late_claims_may_count() -> None:
    topic = Topic()
    gone = topic.say("gone")
    refused = topic.say("one")
    topic.now_s = 20.0
    other = topic.say("other", takes_over=refused)
    topic.say("one", takes_over=gone)
    assert topic.rival_of("other") is None
    assert topic.rival_of("one") == ("other", "other"), "not both"
    topic.say("other", term=other)
    topic.now_s = 22.9
    assert topic.rival_of("one") == ("other", "other")


def test_a_takeover_that_does_not_name_the_holder_does_not_count_during_its_lease() -> None:
    topic = Topic()
    topic.say("one")
    topic.say("other", takes_over=0)
    assert topic.rival_of("other") == ("one", "one")


def test_a_holder_takes_over_its_own_name_only_if_the_topic_does_not_show_that_it_holds_it() -> None:
    for first, wrong in ((1, True), (3, False)):
        topic = Topic()
        term = topic.say("one")
        topic.say("other")
        topic.tenants.first = first
        topic.say("one", term=term)
        topic.say("one", takes_over=2)
        assert bool(topic.hasty) == wrong
