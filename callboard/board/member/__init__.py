"""A service's membership in a cluster: the topology that it sees, its listeners, its properties and its leadership."""
