"""The functions of the service that uses a board: importing them, calling them, and ending what they do."""
