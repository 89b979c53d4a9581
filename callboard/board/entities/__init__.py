"""The entities of a class, as a service uses them."""
