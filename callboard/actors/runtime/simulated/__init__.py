"""Agents in virtual time, with every order of events chosen by a seed."""
