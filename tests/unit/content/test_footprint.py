"""What is known of a package from its paths alone."""

from callboard.content.package_format.footprint import LEADING_BYTES_MAX, Footprint, footprint
from callboard.messages.distribution.topic_messages import Kind, PackageMessage


def elsewhere(*paths: str) -> PackageMessage:
    """A package whose content is in the blob store."""
    return PackageMessage(
        publisher_instance="i", package_id="p", kind=Kind.ADD, paths=paths, deep_paths=paths, content_ref="0" * 64
    )


def test_a_footprint_contains_the_parent_folders_of_the_paths() -> None:
    assert footprint(elsewhere("/a/b/c")).leading == {"/a": None, "/a/b": None}


def test_paths_with_too_many_parent_folders_have_no_footprint() -> None:
    path = "/a" * 2000
    paths = tuple(f"{path}/{number}" for number in range(LEADING_BYTES_MAX // (len(path) * 2000) + 1))

    assert footprint(elsewhere(*paths)) == Footprint()
