"""What every actor is made of: decisions and their effects, following a topic, the lease on a name, retries."""
