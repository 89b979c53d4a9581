"""Commands: which ones a subscriber accepts, and how it carries them out."""
