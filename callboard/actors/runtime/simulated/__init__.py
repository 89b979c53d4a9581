"""Agents in virtual time, every order of events chosen by a seed."""
