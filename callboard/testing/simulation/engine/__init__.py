"""What every simulation needs: hosts, faults, seeds, and a search for shorter histories."""
