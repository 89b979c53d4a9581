"""The model: weights of words, whose sum says whether a text is spam. Any other model goes the same way."""

import json
from pathlib import Path

SAMPLES = (
    ("cheap pills win money", True), ("win a prize now", True), ("money money money", True), ("cheap prize", True),
    ("lunch at noon", False), ("the minutes of the meeting", False), ("noon is fine", False), ("see you now", False),
)  # fmt: skip
"""Texts that no model has learned from, and whether they are spam."""

Weights = dict[str, float]


def load(file: Path) -> Weights:
    """The weights in a file."""
    return {str(word): float(weight) for word, weight in json.loads(file.read_text(encoding="utf-8")).items()}


def is_spam(weights: Weights, text: str) -> bool:
    """What the model says."""
    return sum(weights.get(word, 0.0) for word in text.split()) > 0


def accuracy(weights: Weights) -> float:
    """The share of the samples about which the model is right."""
    return sum(is_spam(weights, text) == truth for text, truth in SAMPLES) / len(SAMPLES)
