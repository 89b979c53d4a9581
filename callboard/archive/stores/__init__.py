"""Where the files of an archive can be."""
