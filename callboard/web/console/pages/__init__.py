"""What each page shows, by its name: a function from a question to what its template needs."""
