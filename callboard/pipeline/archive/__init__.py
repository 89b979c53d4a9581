"""Archives topics in parallel."""
