"""A connection to Kafka: the cluster, its protocol and its failures."""
