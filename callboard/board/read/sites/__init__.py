"""Sites: the boards behind relays, by what the relays say, or by the sites' own logs."""
