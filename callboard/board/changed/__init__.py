"""What changed in a publisher's folder since its last package, so that no more than that is sent."""
