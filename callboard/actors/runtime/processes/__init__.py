"""Agents whose actors have a process each."""
