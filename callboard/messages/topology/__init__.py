"""The messages of the control topic, on which a cluster agrees on its members, their order and their leader."""
