"""The log is the truth: folded anew it gives the same state, to the last field, on any machine."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
from msgspec import Struct, structs

from tests.core.walk import play
from tests.kit.world import World
from xce.controller.core.fold.apply import apply
from xce.controller.core.fold.encode import decode, digest, encode
from xce.controller.core.fold.interned import texts_of
from xce.controller.core.fold.state import TABLES, State
from xce.wal import codec

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def rich() -> World:
    """A world in the middle of its life. Of kinds that it has none of, there is a sample."""
    from tests.core.lab import Life, lab, pair
    from tests.kit.words import job

    world = lab()
    world.scripts.default = lambda name, attempt: Life(run_us=None)
    world.scripts.lives["4"] = Life(run_us=1_000, code=3)
    world.submit_gang(pair())
    world.submit(job())
    world.submit(job())
    world.run(5_000_000)
    for what, table in world.state.tables.items():
        if not table:
            table["sample"] = sample(TABLES[what])
    return world


# -- folding --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [3, 14, 15, 92, 65])
def test_records_read_back_as_bytes_fold_to_the_live_state_at_every_commit(seed: int) -> None:
    world = play(seed).world
    state = State()
    log = world.writer.log
    compared = 0
    for row in world.store.rows:
        record = codec.decode(row)
        for name, blob in log.blobs(texts_of(record)).items():
            state.intern(name, blob)
        apply(state, record)
        if record.lsn in world.digests:
            assert digest(state) == world.digests[record.lsn], f"differs at record {record.lsn}"
            compared += 1
    assert compared == len(world.digests)
    assert compared > 10, "a walk that does next to nothing shows nothing"


def test_what_decide_tried_and_kept_derives_what_applied_records_derive(rich: World) -> None:
    """The live state was never applied to, only tried and kept."""
    other, live = State(), rich.state
    log = rich.writer.log
    for row in rich.store.rows:
        record = codec.decode(row)
        for name, blob in log.blobs(texts_of(record)).items():
            other.intern(name, blob)
        apply(other, record)
    assert live.epoch == 1, "a second leader would have begun from a fold"
    assert other.index.version == live.index.version
    assert (other.index.users, set(other.specs)) == (live.index.users, set(live.specs))
    assert (other.index.freed, other.index.waits) == (live.index.freed, live.index.waits)
    assert other.index.timers.next_due_us() is not None
    assert all(other.changed[what].keys() >= keys.keys() for what, keys in live.changed.items())


def test_a_record_that_is_encoded_and_decoded_is_encoded_the_same(rich: World) -> None:
    for row in rich.store.rows:
        again = codec.encode(codec.decode(row), _before(rich, row.lsn))
        assert again == row


def _before(world: World, lsn: int) -> bytes:
    found = world.writer.log.hash_at(lsn - 1)
    assert found is not None
    return found


# -- every field ----------------------------------------------------------------------------------


def sample(kind: Any) -> Any:
    """Some value of a type."""
    origin, args = get_origin(kind), get_args(kind)
    if origin is tuple:
        return () if args[-1] is Ellipsis else tuple(sample(one) for one in args)
    if origin is not None and type(None) in args:
        return sample(next(one for one in args if one is not type(None)))
    if args:
        return sample(args[0])
    if isinstance(kind, type) and issubclass(kind, Struct):
        hints = get_type_hints(kind)
        needed = [one.name for one in structs.fields(kind) if one.required]
        return kind(**{name: sample(hints[name]) for name in needed})
    return {int: 7, str: "a", bool: True}[kind]


def variants(value: Any, kind: Any) -> Iterator[tuple[str, Any]]:
    """The value with one thing in it changed, once for everything that can be."""
    if value is None:
        yield "given", sample(kind)
    elif isinstance(value, bool):
        yield "", not value
    elif isinstance(value, int):
        yield "", value + 1
    elif isinstance(value, str):
        yield "", value + "~"
    elif isinstance(value, Struct):
        hints = get_type_hints(type(value))
        for name in value.__struct_fields__:
            for path, other in variants(getattr(value, name), hints[name]):
                yield f".{name}{path}", structs.replace(value, **{name: other})
    elif isinstance(value, tuple):
        yield from _tuples(value, get_args(kind))
    else:
        raise AssertionError(f"no variant of {value!r}")


def _tuples(value: tuple[Any, ...], kinds: tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        yield "[+]", (*value, sample(kinds[0]))
        kinds = kinds[:1] if value else ()
    for at, own in enumerate(kinds):
        for path, other in variants(value[at], own):
            yield f"[{at}]{path}", (*value[:at], other, *value[at + 1 :])


@pytest.mark.parametrize("what", sorted(TABLES))
def test_changing_any_one_field_changes_the_digest_and_comes_back_the_same(
    what: str, rich: World
) -> None:
    state = rich.state
    live = digest(state)
    hints = get_type_hints(TABLES[what])
    changed: set[str] = set()
    for key, entity in sorted(state.tables[what].items()):
        for name in entity.__struct_fields__:
            for path, other in variants(getattr(entity, name), hints[name]):
                odd = structs.replace(entity, **{name: other})
                state.tables[what][key] = odd
                told = digest(state)
                state.tables[what][key] = entity
                assert told != live, f"{what} {key}: {name}{path} is not in the digest"
                assert decode(what, encode(odd)) == odd, f"{what}.{name}{path} does not come back"
                changed.add(name)
    assert changed == set(TABLES[what].__struct_fields__)
    assert digest(state) == live


def test_lsn_and_epoch_are_in_the_digest(rich: World) -> None:
    state = rich.state
    live = digest(state)
    for name in ("lsn", "epoch"):
        setattr(state, name, getattr(state, name) + 1)
        assert digest(state) != live
        setattr(state, name, getattr(state, name) - 1)


def test_entities_hold_nothing_that_json_would_change() -> None:
    for entity in TABLES.values():
        for name, kind in get_type_hints(entity).items():
            for one in _leaves(kind):
                assert one in (int, str, bool, type(None)), f"{entity.__name__}.{name}: {one}"


def _leaves(kind: Any) -> Iterator[Any]:
    if isinstance(kind, type) and issubclass(kind, Struct):
        for own in get_type_hints(kind).values():
            yield from _leaves(own)
    elif get_args(kind):
        for own in get_args(kind):
            if own is not Ellipsis:
                yield from _leaves(own)
    elif kind is not Union:
        yield kind


def test_a_spec_that_was_forgotten_and_named_again_since_the_last_cut_is_found() -> None:
    """Found by random arrays: the log could not be folded any more."""
    from tests.core.lab import MINUTE_US, lab
    from tests.kit.words import array, job

    world = lab()
    for command in (job(), array((1, 3, 1), name="other")):
        for _ in range(2):
            world.submit(command)
            world.rest()
            world.run(world.config.clean_period_us + MINUTE_US)
            assert world.state.specs == {}
    world.change_leader()
    assert world.state.jobs == {}


# -- deciding anew --------------------------------------------------------------------------------

_SAY = """
from tests.core.walk import play
for seed in (5, 21, 34):
    print(play(seed).world.store.rows[-1].hash.hex())
"""


def test_the_same_inputs_give_the_same_bytes_whatever_the_hash_seed() -> None:
    said = []
    for hash_seed in ("1", "424242"):
        done = subprocess.run(
            [sys.executable, "-c", _SAY],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        )
        said.append(done.stdout.split())
    assert len(said[0]) == 3
    assert said[0] == said[1]


def test_a_command_decided_twice_gives_equal_records(rich: World) -> None:
    from tests.kit.words import ANNA, job
    from xce.controller.core import commands as c
    from xce.controller.core.decide import decide

    state = rich.state
    live, version = digest(state), dict(state.index.version)
    for command in (job(), c.Kill(actor=ANNA, group=1), c.Kill(actor=ANNA, job=3)):
        first = decide(state, command, rich.now_us)
        second = decide(state, command, rich.now_us)
        assert msgspec.json.encode(first) == msgspec.json.encode(second)
        assert digest(state) == live
        assert dict(state.index.version) == version
