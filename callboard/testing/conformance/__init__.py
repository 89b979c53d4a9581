"""The suites that decide what a log, a blob store and a repository are. No test framework is needed."""
