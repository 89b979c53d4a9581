"""Commands: which a subscriber obeys, and how it carries them out."""
