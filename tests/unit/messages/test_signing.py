"""Signatures: over the bytes of a record, of any sort, and the topic it is for."""

from callboard.messages.record import NewRecord
from callboard.messages.signing import HEADER, Place, SigningKey, is_genuine, signed, unsigned

KEY = SigningKey("ops", b"0123456789abcdef")
HERE = Place("any.topic", "incarnation-1")
RECORD = NewRecord(payload=b"\x00no message\xff", headers=(("of", "anybody"),), key="k")


def test_signatures_are_the_same_as_in_earlier_versions():
    record = signed(RECORD, KEY, HERE, 1_800_000_000_000_000_000, 17)
    mac = "b8bca20d322a681a78693d396bd8c762553d00999aad039d0c6e2e66596b9fc6"
    assert record.headers == (("of", "anybody"), (HEADER, f"ops 1800000000000000000 17 {mac}"))
    assert record.key == "279cb6134d0a0a024d16bc10fa470fea8e9b93b9224d0133c62c75faa5c0a4d0"


def test_a_record_of_another_type_is_signed_for_one_topic_only():
    record = signed(RECORD, KEY, HERE, 1, 17).at(20, 2)
    bare, signature, _ = unsigned(record)
    assert signature is not None
    assert (bare.payload, bare.headers) == (RECORD.payload, RECORD.headers)
    assert is_genuine(bare, signature, KEY, HERE)
    assert not is_genuine(bare, signature, KEY, HERE._replace(topic="other.topic"))
    assert not is_genuine(bare, signature, KEY, HERE._replace(identity="incarnation-2"))
