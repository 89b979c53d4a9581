"""Running jobs: the worker, its slots, threads and processes, and what it reports."""
