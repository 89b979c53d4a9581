"""How a relay carries out what it decides: it reads one log, and appends to that of its site."""
