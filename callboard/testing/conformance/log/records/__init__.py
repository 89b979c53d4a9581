"""What a log does with records: it appends each once, in order, and gives back what it was given."""
