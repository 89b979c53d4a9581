"""A rule that does not hold."""


class BrokenRule(AssertionError):
    """A rule does not hold; its name, and how it was broken."""

    def __init__(self, rule: str, story: str) -> None:
        super().__init__(f"{rule}: {story}")
        self.rule, self.story = rule, story


def must(holds: bool, rule: str, story: object) -> None:
    """Raise ``BrokenRule`` unless it holds."""
    if not holds:
        raise BrokenRule(rule, str(story))
