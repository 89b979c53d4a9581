"""Clusters of members in virtual time: real member agents on one simulated log, and one seed for all that happens."""
