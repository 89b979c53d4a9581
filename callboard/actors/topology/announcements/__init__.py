"""What clusters tell each other about themselves over connectors."""
