"""Searches for a shorter history with the same violation: fewer faults, then fewer acts."""

from collections.abc import Callable

from callboard.testing.simulation.engine.outcome import Outcome, P, Planned

RUNS_MAX = 120
"""Limit of plans to try, a minute or two: what is short enough to read is found by then."""


def shrink(
    run: Callable[[P], Outcome[P]],
    found: Outcome[P],
    report: Callable[[str], None] = lambda _: None,
    runs_max: int = RUNS_MAX,
) -> Outcome[P]:
    """The outcome of the shortest plan found that breaks the same rule.

    Args:
        run: runs a plan.
        found: the outcome with a violation.
        report: called with progress.
        runs_max: how many plans to try.
    """
    assert found.violation is not None
    rule, best, left = found.violation.rule, found, runs_max

    def attempt(plan: P) -> bool:
        nonlocal best, left
        if left <= 0:
            return False
        left -= 1
        outcome = run(plan)
        same = outcome.violation is not None and outcome.violation.rule == rule
        if same:
            best = outcome
            report(f"{len(plan.acts)} acts, {len(plan.odds)} faults")
        return same

    for fault in list(best.plan.odds):
        attempt(best.plan.shortened(faults=[other for other in best.plan.odds if other is not fault]))
    size = max(len(best.plan.acts) // 2, 1)
    while size and left:
        shorter = False
        for begin in range(0, len(_numbers(best.plan)), size):
            numbers = _numbers(best.plan)
            if begin < len(numbers) and attempt(best.plan.shortened(kept=numbers[:begin] + numbers[begin + size :])):
                shorter = True
        size = size if shorter and size == 1 else size // 2
    return best


def _numbers(plan: Planned) -> list[int]:
    return list(plan.kept) if plan.kept is not None else list(range(len(plan.acts)))
