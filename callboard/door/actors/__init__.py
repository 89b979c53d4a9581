"""Checks what services wrote: agents, entities, projections and reactions; and the arguments of their methods."""
