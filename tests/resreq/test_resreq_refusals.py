"""A refused text names the place, the fault and what was probably meant."""

import pytest

from xce.resreq import Code, ResreqError, parse, parse_select


def refusal(text: str, mode: str = "strict") -> ResreqError:
    with pytest.raises(ResreqError) as caught:
        parse(text, mode=mode)
    return caught.value


REFUSED = [
    ("", Code.EMPTY, 1, "the requirement is empty", ""),
    ("  ", Code.EMPTY, 1, "the requirement is empty", ""),
    ("select[a] rsuage[mem=1]", Code.UNKNOWN_SECTION, 11, "'rsuage'", "did you mean `rusage`?"),
    ("Select[mem>1]", Code.UNKNOWN_SECTION, 1, "'Select'", "did you mean `select`?"),
    ("bs[yes] select[a]", Code.UNKNOWN_SECTION, 1, "'bs'", "sections are select, order"),
    ("select(mem>4000)", Code.SYNTAX, 1, "in [ ]", "write select[ ]"),
    ("select[mem=1]", Code.SYNTAX, 11, "a single `=`", "write `==`"),
    ("select[mem=>4000]", Code.SYNTAX, 11, "'=>'", "write `>=`"),
    ("select[mem<>4000]", Code.SYNTAX, 11, "'<>'", "write `!=`"),
    ("select[mem===1]", Code.SYNTAX, 11, "'==='", "write `==`"),
    ("select[a and b]", Code.SYNTAX, 10, "'and'", "write `&&`"),
    ("select[a or b]", Code.SYNTAX, 10, "'or'", "write `||`"),
    ("select[a & b]", Code.SYNTAX, 10, "'&'", "write `&&`"),
    ("select[a, b]", Code.SYNTAX, 9, "','", "write `&&`"),
    ("select[a b]", Code.SYNTAX, 10, "no operator before 'b'", "`&&` joins"),
    ("select[mem>1 ** tmp>1]", Code.SYNTAX, 14, "'**'", "`&&` joins conditions"),
    ("select[mem&gt;=64]", Code.SYNTAX, 11, "'&gt;'", "write `>`"),
    ("select[mem>4000 &&]", Code.EMPTY, 19, "nothing after `&&`", ""),
    ("select[mem>]", Code.SYNTAX, 12, "a condition is missing after `>`", ""),
    ("select[]", Code.EMPTY, 8, "select[ ] is empty", ""),
    ("span[]", Code.EMPTY, 6, "span[ ] is empty", ""),
    ("1*{} + 2*{}", Code.EMPTY, 4, "{ } is empty", ""),
    ("select[mem>4000)]", Code.UNBALANCED, 16, "`)` without `(`", "take it away"),
    ("span[hosts=1]]", Code.UNBALANCED, 14, "`]` without `[`", "take it away"),
    ("select[a rusage[mem=1]", Code.UNBALANCED, 10, "`]` of select[ (column 1)", "close it"),
    ("rusage[mem=1", Code.UNBALANCED, 13, "`]` of rusage[ (column 1)", "close it"),
    ("select[(a]", Code.UNBALANCED, 10, "`)` is missing before `]`", ""),
    ("{select[mem>1]", Code.UNBALANCED, 15, "`}` is missing", ""),
    ("select[hname=='a\"]", Code.UNBALANCED, 15, "a quote that is not closed", ""),
    ("“span[hosts=1]”", Code.CHARACTER, 1, "U+201C", "word processor"),
    ("rusage[mem–4000]", Code.CHARACTER, 11, "U+2013", "looks like '-'"),
    ("select[hname==‘h’]", Code.CHARACTER, 15, "U+2018", 'looks like "\'"'),
    ("span[hosts=1]\u00a0rusage[mem=1]", Code.CHARACTER, 14, "U+00A0", "type a plain one"),
    ("select[hname==hostA.example]", Code.SYNTAX, 15, "no plain word", "'hostA.example'"),
    ("select[hname==hostA*]", Code.SYNTAX, 15, "no plain word", "'hostA*'"),
    ("select['mem>4000']", Code.WRONG_KIND, 8, "is not compared", "hname=='host-1'"),
    ("select[a && 'b-c'==hname]", Code.WRONG_KIND, 13, "'b-c' is not compared", ""),
    ("select[mem>1024ma]", Code.BAD_UNIT, 12, "unknown size unit 'ma'", ""),
    ("select[mem>1e9]", Code.BAD_UNIT, 12, "unknown size unit 'e9'", ""),
    ("nano", Code.BAD_NAME, 1, "'nano' reads as a number", "defined(nano)"),
    ("rusage[a=1 && b=2]", Code.SYNTAX, 12, "'&&' joins no reservations", "write `,`"),
    ("rusage[a=1;b=2]", Code.SYNTAX, 11, "';' joins no reservations", "write `,`"),
    ("rusage[nfs-sf3=4]", Code.BAD_NAME, 11, "'-' in a name", "letters, digits and _"),
    ("rusage[mem]", Code.BAD_VALUE, 11, "mem has no amount", "name=amount"),
    ("rusage[mem=]", Code.BAD_VALUE, 12, "not nothing", ""),
    ("rusage[mem=any]", Code.BAD_VALUE, 12, "not 'any'", ""),
    ("rusage[mem>4]", Code.SYNTAX, 11, "'>' in rusage[ ]", "select[ ]"),
    ("rusage[mem=-5]", Code.BAD_VALUE, 12, "not negative", ""),
    ("rusage[mem=4 GB]", Code.BAD_UNIT, 14, "a blank before the unit", "4GB"),
    ("rusage[mem=1024ma]", Code.BAD_UNIT, 16, "unknown size unit 'ma'", ""),
    ("rusage[mem=10/node]", Code.BAD_VALUE, 15, "cannot be 'node'", ""),
    ("rusage[mem=1,mem=2]", Code.DUPLICATE, 14, "'mem' is given twice", ""),
    ("rusage[a=1:duration=1:b=2]", Code.SYNTAX, 23, "'b' after duration", "`,b=`"),
    ("rusage[duration=10:mem=1]", Code.SYNTAX, 8, "before the resource", ""),
    ("rusage[mem=1:duration=5d]", Code.BAD_UNIT, 24, "unknown duration unit 'd'", ""),
    ("rusage[mem=1:duration=1:decay=2]", Code.BAD_VALUE, 31, "decay cannot be '2'", ""),
    ("rusage[mem=(10 50):duration=(1)]", Code.BAD_VALUE, 16, "may not grow", ""),
    ("rusage[mem=(3 2 1):duration=(1)]", Code.BAD_VALUE, 30, "3 amounts need 2 or 3", ""),
    ("rusage[swp=(3 2):duration=(1)]", Code.BAD_VALUE, 8, "only mem takes a list", ""),
    ("rusage[mem=100] || rusage[a=1]", Code.SYNTAX, 17, "'||' between", "inside rusage[ ]"),
    ("rusage[mem=100,]", Code.EMPTY, 16, "nothing after `,`", ""),
    ("order[mem:]", Code.EMPTY, 11, "nothing after `:`", ""),
    ("select[a] select[b]", Code.DUPLICATE, 11, "select is given twice", "&&"),
    ("rusage[a=1] rusage[b=1]", Code.DUPLICATE, 13, "rusage is given twice", "own"),
    ("span[hosts=2]", Code.BAD_VALUE, 12, "1 or -1, not 2", "ptile"),
    ("span[hots=1]", Code.BAD_VALUE, 6, "cannot be 'hots'", "did you mean `hosts`?"),
    ("span[ptile=0]", Code.BAD_VALUE, 12, "at least 1", ""),
    ("span[ptile=1.5]", Code.BAD_VALUE, 12, "whole number", ""),
    ("span[ptile=4,hosts=1]", Code.CONFLICT, 14, "a second key", ""),
    ("span[ptile='!',LINUX:2]", Code.CONFLICT, 6, "need same[type]", "same[model]"),
    ("span[ptile='!'] same[type:model]", Code.CONFLICT, 6, "does not go with", ""),
    ("cu[type=rack:type=cabinet]", Code.DUPLICATE, 14, "type is given twice", ""),
    ("cu[pref=best]", Code.BAD_VALUE, 9, "pref cannot be 'best'", "`bestfit`"),
    ("cu[balance:usablecuslots=2]", Code.CONFLICT, 4, "usablecuslots", ""),
    ("1*{cu[excl]} + 1*{a}", Code.CONFLICT, 7, "cu[excl]", ""),
    ("affinity[cores(4)]", Code.BAD_VALUE, 10, "'cores'", "`core`"),
    ("affinity[core(0)]", Code.BAD_VALUE, 15, "at least 1", ""),
    ("1*select[a] + 1*{b}", Code.SYNTAX, 9, "a term stands in { }", "N*{select[...]}"),
    ("{select[a]} + 1*{b}", Code.SYNTAX, 13, "a term without its number", "last term"),
    ("1*{1*{a} + 1*{b}} + 1*{c}", Code.SYNTAX, 6, "inside no other", "side by side"),
    ("1.5*{a} + 1*{b}", Code.BAD_VALUE, 5, "is whole", "2*{...}"),
    ("0*{a} + 2*{b}", Code.BAD_VALUE, 1, "at least 1, not 0", ""),
    ("1*{{a}} + 2*{b}", Code.SYNTAX, 4, "`{` twice", "format string"),
    ("{a}|{b}", Code.SYNTAX, 4, "a single `|`", "write `||`"),
    ("{a}@4 || {b}", Code.SYNTAX, 4, "second and later", ""),
    ("{a} || {b}@4x", Code.BAD_VALUE, 13, "unit of a delay", ""),
    ("{a}", Code.SYNTAX, 4, "one alternative alone is none", "leave out the { }"),
    ("span[hosts=1] -n 4", Code.SYNTAX, 15, "'-n' after the last section", "quotes"),
]


@pytest.mark.parametrize(("text", "code", "column", "message", "hint"), REFUSED)
def test_a_text_is_refused_with_its_place_and_the_likely_intention(
    text: str, code: Code, column: int, message: str, hint: str
) -> None:
    error = refusal(text)
    assert message in error.message
    assert hint in error.hint
    assert (error.code, error.column) == (code, column)


@pytest.mark.parametrize("text", [text for text, *_ in REFUSED])
def test_the_caret_stands_under_the_column(text: str) -> None:
    error = refusal(text)
    shown, pointer = error.caret().split("\n")
    assert len(shown) == len(text)
    assert pointer.index("^") == error.column - 1


def test_a_long_text_is_shown_as_a_window_around_the_fault() -> None:
    text = "select[" + "a && " * 200 + "b c" + " && d" * 200 + "]"
    error = refusal(text)
    shown, pointer = error.caret().split("\n")
    assert error.column == 7 + 1000 + 3
    assert shown.startswith("...")
    assert shown.endswith("...")
    assert shown[pointer.index("^")] == "c"
    assert len(shown) == 82


def test_tabs_and_newlines_do_not_move_the_caret() -> None:
    shown, pointer = refusal("select[a]\n\trsuage[b=1]").caret().split("\n")
    assert shown == "select[a]  rsuage[b=1]"
    assert pointer == "           ^^^^^^"


def test_what_was_found_and_what_could_stand_there_are_named() -> None:
    error = refusal("affinity[mem=100]")
    assert error.found == "="
    assert error.expected == ("`(`", "`*`", "`:`", "`]`")
    assert str(error) == ("column 13: unexpected '=' in affinity[ ]; expected `(`, `*`, `:` or `]`")


def test_a_syntax_error_knows_the_words_of_lsf() -> None:
    assert refusal("select[").lsf_text == "Bad resource requirement syntax"


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("select[" + "(" * 250 + "a" + ")" * 250 + "]", 207),
        ("[" * 10_000, 201),
        ("select[" + "!" * 250 + "a]", 208),
        ("select[" + "-" * 300 + "a]", 208),
    ],
)
def test_nesting_beyond_two_hundred_is_refused_with_its_column(text: str, column: int) -> None:
    error = refusal(text)
    assert (error.code, error.column) == (Code.TOO_DEEP, column)


def test_nesting_of_nearly_two_hundred_is_fine() -> None:
    assert parse("(" * 199 + "a" + ")" * 199).tree == parse("a").tree
    parse("!" * 199 + "a")


def test_numbers_of_thousands_of_digits_are_refused() -> None:
    assert refusal(f"rusage[mem={'9' * 5000}]").code is Code.TOO_LARGE
    assert refusal(f"span[ptile={'9' * 5000}]").code is Code.BAD_VALUE
    assert refusal("span[ptile=9999999999]").code is Code.TOO_LARGE


def test_compat_still_refuses_what_has_no_meaning() -> None:
    for text in ("select[a", "rusage[a=1,a=2]", "span[hosts=1] span[ptile=2]", "a:=b"):
        assert refusal(text, mode="compat").column >= 1


def test_an_unknown_mode_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="mode is 'strict' or 'compat'"):
        parse("a", mode="lax")


def test_a_select_expression_alone_has_columns_of_its_own() -> None:
    with pytest.raises(ResreqError) as caught:
        parse_select("model==H100 and mem>4")
    assert caught.value.column == 13
    assert caught.value.caret().split("\n")[1] == " " * 12 + "^^^"


@pytest.mark.parametrize("text", ["a] rusage[mem=1", "", "a] select[b", "{a}||{b}"])
def test_a_select_expression_cannot_smuggle_in_other_sections(text: str) -> None:
    with pytest.raises(ResreqError):
        parse_select(text)
