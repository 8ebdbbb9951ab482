"""The same text may be right on one site and wrong on another: trees against types."""

import pytest

from xce.model.resources import BUILT_IN, Direction, Kind, Layer, ResourceType, Scope
from xce.resreq import Code, ResreqError, check, parse, problems

SITE = {
    **BUILT_IN,
    "bigmem": ResourceType(name="bigmem", layer=Layer.ATTRIBUTE, kind=Kind.BOOLEAN),
    "os": ResourceType(name="os", layer=Layer.ATTRIBUTE, kind=Kind.STRING),
    "lic": ResourceType(name="lic", scope=Scope.SHARED, consumable=True),
    "temp": ResourceType(name="temp", direction=Direction.INCREASING, scale=1000),
}


def checked(text: str) -> tuple[str, ...]:
    return tuple(remark.code for remark in check(parse(text).tree, SITE))


@pytest.mark.parametrize(
    "text",
    [
        "select[type==X86_64 && mem>4000 && bigmem]",
        "select[hname!='host06-x12' && !bigmem]",
        "select[ncpus*2>mem/1024 || -it<0]",
        "select[defined(bigmem) && (bigmem==1)]",
        "select[status==ok && os<='b']",
        "select[mem>swp]",
        "order[-ut:mem:slots]",
        "rusage[mem=4GB:swap=2,lic=1/host:duration=2h:decay=1]",
        "rusage[ngpus_physical=1.00,slots=2]",
        "rusage[mem=(50 10):duration=(1)]",
        "same[type:os:bigmem:ncpus]",
        "1*{select[bigmem]} + 2*{rusage[lic=1||mem=1]}",
        "{order[ut]} || {same[model]}@4",
        "cu[type=rack] affinity[core(2)] span[ptile=2]",
    ],
)
def test_what_fits_the_types_is_taken(text: str) -> None:
    assert checked(text) == ()


@pytest.mark.parametrize(
    ("text", "code", "column", "message", "hint"),
    [
        ("select[memm>4]", Code.UNKNOWN_NAME, 8, "'memm'", "did you mean `mem`?"),
        ("select[a]", Code.UNKNOWN_NAME, 8, "'a'", ""),
        ("select[mem4000]", Code.UNKNOWN_NAME, 8, "'mem4000'", ""),
        ("select[defined(bigmemm)]", Code.UNKNOWN_NAME, 16, "'bigmemm'", "`bigmem`"),
        ("select[mem>X86]", Code.UNKNOWN_NAME, 12, "'X86'", ""),
        ("select[hname!=bl-31-1]", Code.WRONG_KIND, 15, "with one value", "quote a value"),
        ("select[type]", Code.WRONG_KIND, 8, "type is a text", "type==VALUE"),
        ("select[type==4]", Code.WRONG_KIND, 14, "compare it with a text", "quote"),
        ("select[X86==type]", Code.UNKNOWN_NAME, 8, "'X86'", ""),
        ("select[hname==type==1]", Code.WRONG_KIND, 8, "resource, operator, value", "left"),
        ("select[mem=='a-b']", Code.WRONG_KIND, 8, "mem is a number", ""),
        ("select[type+1>2]", Code.WRONG_KIND, 8, "type is a text, not a number", ""),
        ("select[4GB]", Code.WRONG_KIND, 8, "a size is no condition", "compare"),
        ("select[status==okay]", Code.BAD_VALUE, 16, "'okay'", "did you mean `ok`?"),
        ("order[type]", Code.NOT_ORDERED, 7, "type", ""),
        ("order[-lic]", Code.NOT_ORDERED, 8, "no direction", ""),
        ("order[css]", Code.UNKNOWN_NAME, 7, "'css'", ""),
        ("rusage[maxmem=4]", Code.NOT_CONSUMABLE, 8, "maxmem", "select[ ]"),
        ("rusage[type=1]", Code.NOT_CONSUMABLE, 8, "type", ""),
        ("rusage[lick=1]", Code.UNKNOWN_NAME, 8, "'lick'", "`lic`"),
        ("rusage[lic=1GB]", Code.BAD_UNIT, 12, "no size unit", ""),
        ("rusage[lic=0.5]", Code.NOT_WHOLE, 12, "whole numbers", ""),
        ("rusage[ut=0.0001]", Code.NOT_WHOLE, 11, "1/1000", ""),
        ("rusage[swp=1,swap=2]", Code.DUPLICATE, 14, "one resource", ""),
        ("rusage[gpu=1,ngpus_physical=1]", Code.DUPLICATE, 14, "one resource", ""),
        ("same[mem]", Code.NOT_STATIC, 6, "do not change", ""),
        ("same[nope]", Code.UNKNOWN_NAME, 6, "'nope'", ""),
        ("2*{a} + 1*{mem>1}", Code.UNKNOWN_NAME, 4, "'a'", ""),
    ],
)
def test_what_does_not_fit_is_a_typed_error_with_its_column(
    text: str, code: Code, column: int, message: str, hint: str
) -> None:
    with pytest.raises(ResreqError) as caught:
        checked(text)
    error = caught.value
    assert message in error.message
    assert hint in error.hint
    assert (error.code, error.column) == (code, column)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rusage[maxmem=4]", "Non-consumable resource in the RUSAGE section"),
        ("select[nosuch]", "Bad resource name"),
        ("order[type]", "Bad resource name"),
    ],
)
def test_an_error_has_the_words_of_lsf(text: str, words: str) -> None:
    with pytest.raises(ResreqError) as caught:
        checked(text)
    assert caught.value.lsf_text == words


def test_all_problems_are_found_in_the_order_of_their_columns() -> None:
    faults = problems(parse("rusage[lick=1,maxmem=4] order[css] span[hosts=1]").tree, SITE)
    assert [fault.column for fault in faults] == [8, 15, 31]


def test_a_percentage_for_ut_is_legal_and_named() -> None:
    assert checked("select[ut<50]") == ("fraction",)
    assert checked("select[ut<0.5]") == ()


def test_a_type_of_the_site_is_known_only_there() -> None:
    made = parse("rusage[lic=1]").tree
    assert check(made, SITE) == ()
    with pytest.raises(ResreqError):
        check(made, BUILT_IN)
