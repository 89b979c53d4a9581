"""Jobs: adding and reading them, and the worker that runs them in this process."""
