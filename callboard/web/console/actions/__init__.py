"""What operators may do: commands to subscribers, members and jobs, each asked for with a reason."""
