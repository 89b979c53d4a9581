"""``callboard schedules``: what adds jobs at its ticks."""
