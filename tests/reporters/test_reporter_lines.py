"""One line of a reporter: LSF's pairs, JSON, and everything else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xce.agent.reporters.lines import LineWrong, read_line


@pytest.mark.parametrize(
    ("line", "values"),
    [
        (b"3 tmp2 47.5 nio 344 lic -1", {"tmp2": 47.5, "nio": 344, "lic": -1}),
        (b"0", {}),
        (b"1 osrel el9.4\r", {"osrel": "el9.4"}),
        (b"  1   usr2   -  ", {"usr2": None}),
        (b"1 mem 4GB", {"mem": "4GB"}),
        (b"", None),
        (b"   ", None),
        (b'{"seats": 5, "osrel": "el9", "up": true, "inlet": null}',
         {"seats": 5, "osrel": "el9", "up": 1, "inlet": None}),
        (b'{"a": 1.5e3}', {"a": 1500.0}),
    ],
)  # fmt: skip
def test_good_lines(line: bytes, values: dict[str, object] | None) -> None:
    assert read_line(line) == values


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"3 tmp2 47.5", "3 pairs are announced, 2 words follow"),
        (b"1 tmp2 47.5 x", "1 pairs are announced, 3 words follow"),
        (b"tmp2 47.5", "'tmp2' is no number of pairs"),
        (b"-1 a b", "'-1' is no number of pairs"),
        (b"999 a b", "999 pairs; at most 128 are taken"),
        (b"1 a.b 3", "'a.b' cannot name a resource"),
        (b"1 2a 3", "'2a' cannot name a resource"),
        (b"1 a nan", "the number of a is beyond all bounds"),
        (b"1 a 1e99", "the number of a is beyond all bounds"),
        (b"1 a " + b"x" * 65, "the text of a is too long or not printable"),
        (b"\xff\xfe\x00", "byte 1 is no text"),
        (b"1 a \x01", "the text of a is too long or not printable"),
        (b'{"a": [1]}', "a is neither a number nor a text"),
        (b'{"a": 1', "not JSON: "),
        (b'{"a": NaN}', "the number of a is beyond all bounds"),
        (b"{" * 50_000, "not JSON: "),
    ],
)
def test_bad_lines_say_what_is_wrong(line: bytes, said: str) -> None:
    with pytest.raises(LineWrong) as wrong:
        read_line(line)
    assert str(wrong.value).startswith(said)


@given(st.binary(max_size=300))
def test_no_bytes_do_anything_but_give_values_or_be_refused(line: bytes) -> None:
    try:
        found = read_line(line)
    except LineWrong:
        return
    assert found is None or all(isinstance(name, str) for name in found)


@given(
    st.dictionaries(
        st.from_regex(r"[a-z_][a-z0-9_]{0,20}", fullmatch=True),
        st.integers(-(10**17), 10**17) | st.sampled_from(["el9", "x-1", "up"]),
        max_size=9,
    )
)
def test_what_is_written_as_pairs_is_read_back(values: dict[str, object]) -> None:
    words = " ".join(f"{name} {value}" for name, value in values.items())
    assert read_line(f"{len(values)} {words}".encode()) == values
