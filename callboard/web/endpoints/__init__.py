"""What long-running commands answer with ``--listen``: metrics, and whether they are alive, ready and well."""
