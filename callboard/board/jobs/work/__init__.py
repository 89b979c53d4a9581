"""Running jobs: the functions that are registered, and the worker that calls them."""
