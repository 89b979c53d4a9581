"""The actors of a publisher agent."""
