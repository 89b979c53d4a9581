"""Everything about thespian: the names that actors use, a base on an asyncio loop, and a safe base of processes."""
