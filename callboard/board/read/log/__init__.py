"""The records of the log: decoded, searched, exported."""
