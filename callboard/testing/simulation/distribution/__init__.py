"""Simulated fleets of publishers and subscribers, and the oracles that judge them."""
