"""Records as bytes: versions, unknown kinds, upcasters, every field in the hash."""

from typing import ClassVar

import msgspec
import pytest

from tests.wal import kit
from xce.model.records import BODIES, Body
from xce.wal import codec
from xce.wal.codec import Row
from xce.wal.port import GENESIS, LogCorrupt, LogTooNew


def row(**changes: object) -> Row:
    """The row of a small record, some fields changed and the hash made to fit."""
    plain = codec.encode(kit.sealed(1, 1), GENESIS)._replace(**changes)
    return plain._replace(hash=codec.chain_hash(GENESIS, plain))


def test_a_record_comes_back_as_it_was() -> None:
    record = kit.host_changed(3, 2, "n1", "größer")
    assert codec.decode(codec.encode(record, b"x" * 16)) == record


def test_the_hash_covers_every_field_and_the_hash_before() -> None:
    plain = row()
    changed = (
        [plain._replace(**{name: 99}) for name in ("lsn", "epoch", "at_us", "v")]
        + [plain._replace(**{name: "other"}) for name in ("kind", "cause", "actor", "entities")]
        + [plain._replace(body=b"other")]
    )
    hashes = {codec.chain_hash(GENESIS, other) for other in changed}
    assert len(hashes) == len(Row._fields) - 1
    assert plain.hash not in hashes
    assert codec.chain_hash(b"x" * 16, plain) != plain.hash


def test_fields_do_not_run_into_each_other() -> None:
    one, two = row(cause="ab", actor="c"), row(cause="a", actor="bc")
    assert one.hash != two.hash


def test_an_unknown_kind_refuses_to_start() -> None:
    with pytest.raises(LogTooNew, match="record 1 is of kind 'Teleported', which this version"):
        codec.decode(row(kind="Teleported"))


def test_a_newer_version_refuses_to_start() -> None:
    with pytest.raises(LogTooNew, match="record 1 is GroupSealed v2; this version of XCE knows v1"):
        codec.decode(row(v=2))


def test_an_unreadable_body_is_named() -> None:
    with pytest.raises(LogCorrupt, match=r"record 1 \(GroupSealed\) has an unreadable body"):
        codec.decode(row(body=b'{"group":"seven"}'))


class Renamed(Body, frozen=True, gc=False, kw_only=True):
    """A kind at its third version, for these tests."""

    V: ClassVar[int] = 3
    group: int
    why: str


@pytest.fixture
def renamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """`Renamed` is a kind, with a way up from both older versions."""
    monkeypatch.setitem(BODIES, "Renamed", Renamed)
    monkeypatch.setitem(codec.UPCASTERS, ("Renamed", 1), lambda old: {"group": old["gang"]})
    monkeypatch.setitem(codec.UPCASTERS, ("Renamed", 2), lambda old: {**old, "why": "not said"})


@pytest.mark.usefixtures("renamed")
def test_older_versions_are_upcast_step_by_step() -> None:
    expected = Renamed(group=7, why="not said")
    for version, body in ((1, b'{"gang":7}'), (2, b'{"group":7}')):
        record = codec.decode(row(kind="Renamed", v=version, body=body))
        assert record.body == expected
        assert record.v == 3


@pytest.mark.usefixtures("renamed")
def test_a_missing_upcaster_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(codec.UPCASTERS, ("Renamed", 2))
    with pytest.raises(LogCorrupt, match="nothing upcasts v2"):
        codec.decode(row(kind="Renamed", v=1, body=b'{"gang":7}'))


def test_every_kind_of_body_can_be_encoded_and_read_by_its_decoder() -> None:
    assert sorted(codec._decoders) == sorted(BODIES)
    for kind, body_type in BODIES.items():
        assert body_type.V >= 1
        assert msgspec.json.schema(body_type)["$ref"].endswith(kind)


def test_a_blob_is_named_by_its_content() -> None:
    assert codec.blob_name(b"") == "cae66941d9efbd404e4d88758ea67670"
    assert codec.blob_name(b"a") != codec.blob_name(b"b")
