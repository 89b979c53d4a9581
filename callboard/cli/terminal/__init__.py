"""The visible side of a command: output, logs, exit codes."""
