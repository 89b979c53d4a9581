from callboard.actors.runtime.running_agent import ERRORS
from callboard.messages.distribution.mailbox import Problem


def test_every_problem_of_an_agent_is_raised_as_an_error_of_its_own() -> None:
    assert set(ERRORS) == set(Problem)
    assert len(set(ERRORS.values())) == len(ERRORS)
