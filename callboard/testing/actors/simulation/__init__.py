"""Entities and agents of services, in virtual time, with faults that a seed chooses."""
