"""Events for other services about what happens to packages."""
