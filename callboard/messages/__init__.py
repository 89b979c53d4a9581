"""Every message: the schemas, the immutable events that the program sees, and the codec between."""
