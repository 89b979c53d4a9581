"""What people and programs see of a command: output, logs, exit codes."""
