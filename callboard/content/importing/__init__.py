"""From a package to the operations on a repository."""
