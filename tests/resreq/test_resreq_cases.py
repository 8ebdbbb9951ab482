"""Every collected requirement is judged as the documents judge it; none ever crashes."""

import pytest

from tests.resreq.cases import load, sure
from xce.resreq import ResreqError, canonical, merge_requirements, parse

FILES = ["resreq.jsonl", "resreq_tricky.jsonl"]


def accepted(text: str, mode: str) -> bool:
    try:
        made = parse(text, mode=mode).tree
    except ResreqError as error:
        refusal = error
    else:
        assert parse(canonical(made), mode=mode).tree == made
        return True
    assert 1 <= refusal.column <= len(text) + 1
    assert refusal.message
    assert len(refusal.caret(text).splitlines()) == 2
    return False


@pytest.mark.parametrize("name", FILES)
def test_strict_mode_agrees_with_the_documents_on_every_sure_record(name: str) -> None:
    wrong = [r["s"] for r in load(name) if sure(r) and accepted(r["s"], "strict") != r["valid"]]
    assert wrong == []


@pytest.mark.parametrize("name", FILES)
def test_unsure_records_get_an_answer_in_both_modes(name: str) -> None:
    for record in load(name):
        accepted(record["s"], "strict")
        accepted(record["s"], "compat")


@pytest.mark.parametrize("name", FILES)
def test_compat_takes_whatever_strict_takes(name: str) -> None:
    for record in load(name):
        if accepted(record["s"], "strict"):
            assert accepted(record["s"], "compat")
            assert parse(record["s"], mode="compat").tree == parse(record["s"]).tree


def test_the_old_select_language_is_taken_by_compat_alone() -> None:
    old = [record["s"] for record in load("resreq.jsonl") if record.get("old_ok")]
    assert len(old) >= 6
    for text in old:
        assert not accepted(text, "strict")
        parsed = parse(text, mode="compat")
        assert "old_syntax" in [warning.code for warning in parsed.warnings]


def test_several_requirements_merge_as_the_documents_say() -> None:
    for record in load("resreq_multi.jsonl"):
        try:
            merged = merge_requirements(record["R"]).tree
        except ResreqError:
            merged = None
        if sure(record):
            expected = record["merged"] and parse(record["merged"]).tree
            assert merged == expected, record


def test_each_of_several_requirements_is_valid_as_recorded() -> None:
    for record in load("resreq_multi.jsonl"):
        assert [accepted(text, "strict") for text in record["R"]] == record["each_valid"]
