"""Everything of thespian: the names that the actors use, a base on an asyncio loop, and a safe base of processes."""
