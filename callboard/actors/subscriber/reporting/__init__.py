"""What a subscriber reports: announcements, statuses, lines for the log of its publishers."""
