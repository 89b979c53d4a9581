"""Jobs of a board without an event loop."""

from pathlib import Path

import callboard.sync
from callboard import JobRegistry, JobState

WAIT_S = 30.0

jobs = JobRegistry()


@jobs.job("add")
def add(numbers: list[int]) -> int:
    """Runs in a thread."""
    return sum(numbers)


def test_jobs_are_added_run_and_commanded_without_an_event_loop(tmp_path: Path) -> None:
    with callboard.sync.Callboard("memory:", base=tmp_path) as board:
        late = board.jobs.add("add", [0], delay_s=3600)
        assert board.jobs.drop(late.id) == (late.id,)
        board.jobs.configure("sums", ["add"], parallel=2)
        with board.jobs.worker(jobs, slots=2):
            added = board.jobs.add_all(add.new([number, 1]) for number in range(5))
            assert [board.jobs.wait(job.id, WAIT_S).result for job in added] == [1, 2, 3, 4, 5]
        assert [job.id for job in board.jobs.find(JobState.DROPPED).items] == [late.id]
        queues = next(iter(board.jobs.watch()))
        assert [(each.name, each.ended) for each in queues] == [("main", 0), ("sums", 6)]
        assert queues == board.jobs.queues()
