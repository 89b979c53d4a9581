"""Messages of entities: their commits on the log, and the questions to those who keep them."""
