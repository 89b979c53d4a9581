"""What is known of a package from its paths alone."""

from callboard.content.package_format.footprint import LEADING_BYTES_MAX, Footprint, footprint
from callboard.messages.distribution.topic_messages import Kind, PackageMessage


def elsewhere(*paths: str) -> PackageMessage:
    """A package whose content is in the blob store."""
    return PackageMessage(
        publisher_instance="i", package_id="p", kind=Kind.ADD, paths=paths, deep_paths=paths, content_ref="0" * 64
    )


def test_the_folders_that_lead_to_the_paths_are_known() -> None:
    assert footprint(elsewhere("/a/b/c")).leading == {"/a": None, "/a/b": None}


def test_nothing_is_known_of_paths_that_lead_through_more_folders_than_memory_should_hold() -> None:
    path = "/a" * 2000
    paths = tuple(f"{path}/{number}" for number in range(LEADING_BYTES_MAX // (len(path) * 2000) + 1))

    assert footprint(elsewhere(*paths)) == Footprint()
