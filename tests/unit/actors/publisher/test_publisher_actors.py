import pickle
from random import Random

from callboard.actors.core.decision import Moment, Origin, Started
from callboard.actors.publisher import PublisherSettings, actors
from callboard.messages.topics import Topics

SETTINGS = PublisherSettings("site", "i1", Topics.with_prefix())


def test_a_publisher_agent_has_each_of_its_actors_once() -> None:
    roles = [spec.role for spec in actors(SETTINGS)]
    assert sorted(roles) == [
        "command_sender", "distributor", "fleet", "notifier", "older_poller", "queue_cache", "status_watcher",
        "tail_poller",
    ]  # fmt: skip


def test_every_actor_can_be_created_in_another_process() -> None:
    for spec in pickle.loads(pickle.dumps(actors(SETTINGS))):
        decision = spec.decision(spec.settings, Random(1))
        list(decision.receive(Started(), Origin(""), Moment(0, 0.0)))
