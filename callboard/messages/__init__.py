"""Every message: the schemas, the immutable event classes, and the codec between them."""
