"""The rules by which records change jobs, one for each kind of message."""
