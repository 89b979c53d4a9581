"""Topics."""

from callboard.backends.log import Capability, Retention
from callboard.errors import ConfigError, TopicMissing
from callboard.testing.conformance.log.harness import LogHarness, fill, new, opened, read_all
from callboard.testing.conformance.verdict import raises


async def check_a_topic_is_not_made_by_using_it(harness: LogHarness) -> None:
    """A misspelt name is an error, not an empty topic."""
    async with opened(harness) as log:
        for topic in (f"{harness.topic}-missing", "../outside", "Upper", ""):
            for _ in range(2):  # the first attempt must not create it either
                for call in (
                    lambda topic=topic: log.append(topic, [new("x")]),
                    lambda topic=topic: log.read(topic, 1),
                    lambda topic=topic: log.wait(topic, 1, 0),
                    lambda topic=topic: log.bounds(topic),
                    lambda topic=topic: log.identity(topic),
                ):
                    with raises(TopicMissing):
                        await call()
            if Capability.TRIM in log.capabilities:
                with raises(TopicMissing):
                    await log.trim(topic, Retention())


async def check_ensuring_again_changes_nothing(harness: LogHarness) -> None:
    """Every process begins with it."""
    async with opened(harness) as log:
        await fill(log, harness.topic, 3)
        await log.ensure(harness.topic)
        assert len(await read_all(log, harness.topic)) == 3


async def check_names_are_checked(harness: LogHarness) -> None:
    """A name that some log cannot use is refused by all of them."""
    async with opened(harness) as log:
        for name in ("", "Upper", "a/b", "../a", ".hidden", "-dash", "space d", "x" * 82, "umlaut-ü"):
            with raises(ConfigError):
                await log.ensure(name)
