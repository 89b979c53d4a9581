"""What a subscriber tells: announcements, statuses, the lines for its publishers."""
