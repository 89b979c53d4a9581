"""What must be true of a simulated fleet, by the simplest reading of its log."""
