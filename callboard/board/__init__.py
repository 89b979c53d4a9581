"""The board as a service sees it: wiring, requests, and answers."""
