"""Figures over time: samples of the board in memory, drawn on the server."""
