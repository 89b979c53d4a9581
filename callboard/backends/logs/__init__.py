"""The logs that come with callboard."""
