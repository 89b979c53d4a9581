"""Agents as sets of actors: pure decisions, and the runtime that carries them out."""
