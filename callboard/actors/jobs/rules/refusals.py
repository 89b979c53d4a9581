"""What a record's message did not do."""

Refusal = tuple[int, str]
"""The job that was left as it was, and why."""

WHOLE = -1
"""In place of a job: the message did nothing."""
