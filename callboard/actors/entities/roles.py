"""The role in the agent of an entity class: the address by which the service asks."""

KEEPER = "keeper"
