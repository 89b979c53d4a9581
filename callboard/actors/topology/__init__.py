"""Who is in the cluster, in which order, and who leads: a pure fold over the control topic."""
