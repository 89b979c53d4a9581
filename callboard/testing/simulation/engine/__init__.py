"""What any simulation needs: hosts, faults, seeds, and the search for a shorter history."""
