"""The pages that people look at, drawn on the server."""
