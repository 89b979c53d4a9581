"""What a board has subscribers do, and packages sent again."""
