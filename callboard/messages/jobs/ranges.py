"""Many jobs as ranges of ids: those of a batch follow each other."""

from collections.abc import Iterable


def ranges_of(jobs: Iterable[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """These jobs as ranges: their first ids, and how many are in each."""
    first, many = list[int](), list[int]()
    for job in sorted(set(jobs)):
        if first and job == first[-1] + many[-1]:
            many[-1] += 1
        else:
            first.append(job)
            many.append(1)
    return tuple(first), tuple(many)


def jobs_in(first: Iterable[int], many: Iterable[int]) -> tuple[int, ...]:
    """The jobs of these ranges."""
    return tuple(job for start, count in zip(first, many, strict=True) for job in range(start, start + count))
