"""For the tests of services: jobs that run when the test says so, by a clock that the test moves."""

from callboard.testing.jobs.job_board import JobBoard

__all__ = ["JobBoard"]
