"""What subscribers could not import, from their statuses."""
