"""Asks the model that a server uses at the moment.

    python ask.py server-1 win money

It reads what the server has imported, and needs no callboard for that.
"""

import json
import sys
from pathlib import Path

import spam

if __name__ == "__main__":
    _, server, *words = sys.argv
    folder = Path("servers") / server
    model = json.loads((folder / "current.json").read_text(encoding="utf-8"))["model"]
    answer = spam.is_spam(spam.load(folder / "models" / f"{model}.json"), " ".join(words))
    print(f"{model}: {'spam' if answer else 'no spam'}")
