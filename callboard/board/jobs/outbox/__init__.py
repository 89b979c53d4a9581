"""Jobs that are added within a transaction of the caller's database."""
