"""The files of an archive: segments, and the manifests that chain them."""
