"""Looking after a board: health, retention, verification, repair, seeding."""
