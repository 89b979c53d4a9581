"""What a board answers: who has what, who has not, and why."""
