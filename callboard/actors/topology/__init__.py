"""The cluster: its members, their order and their leader, as a pure fold over the control topic."""
