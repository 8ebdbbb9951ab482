"""What a text becomes: trees worked out by hand."""

import pytest

from xce.resreq import canonical, parse, parse_select, tree
from xce.resreq.tree import And, Defined, Infix, Name, Neg, Not, Number, Or, Size, Text

GB = 2**30
MINUTE_US = 60_000_000


def named(name: str) -> Name:
    return Name(name=name)


def number(digits: int, places: int = 0) -> Number:
    return Number(digits=digits, places=places)


def run(*parts: object) -> Infix:
    return Infix(ops=tuple(parts[1::2]), terms=tuple(parts[::2]))  # type: ignore[arg-type]


A, B, C = named("a"), named("b"), named("c")


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("a", A),
        ("a && b || c", Or(terms=(And(terms=(A, B)), C))),
        ("a && (b || c)", And(terms=(A, Or(terms=(B, C))))),
        ("a && (b && c)", And(terms=(A, B, C))),
        ("!a == b", run(Not(term=A), "==", B)),
        ("!(a == b)", Not(term=run(A, "==", B))),
        ("!!a", Not(term=Not(term=A))),
        ("-a*b", run(Neg(term=A), "*", B)),
        ("a+b*c", run(A, "+", run(B, "*", C))),
        ("(a+b)*c", run(run(A, "+", B), "*", C)),
        ("a-b-c", run(A, "-", B, "-", C)),
        ("a-(b-c)", run(A, "-", run(B, "-", C))),
        ("a<b==c", run(run(A, "<", B), "==", C)),
        ("a==b<c", run(A, "==", run(B, "<", C))),
        ("a > 4000 > 1", run(A, ">", number(4000), ">", number(1))),
        ("a>=4g", run(A, ">=", Size(size_bytes=4 * GB))),
        ("ut<.5", run(named("ut"), "<", number(5, 1))),
        ("hname=='h-1'", run(named("hname"), "==", Text(text="h-1"))),
        ("hname=='h1'", run(named("hname"), "==", named("h1"))),
        ("model==2xlarge", run(named("model"), "==", Text(text="2xlarge"))),
        ("defined(nano)", Defined(name="nano")),
        ("defined (a) && a>0", And(terms=(Defined(name="a"), run(A, ">", number(0))))),
        ("select && span", And(terms=(named("select"), named("span")))),
    ],
)
def test_a_select_expression_becomes_this_tree(text: str, node: tree.Expr) -> None:
    assert parse_select(text) == node
    assert parse(f"select[{text}]").tree == tree.Simple(select=node)
    assert parse(text).tree == tree.Simple(select=node)


def reserves(text: str) -> tuple[tree.Reserve, ...]:
    made = parse(f"rusage[{text}]").tree
    assert isinstance(made, tree.Simple)
    return made.rusage[0]


def reserve(name: str, amount: tree.Amount, **rest: object) -> tree.Reserve:
    phase = {key: rest.pop(key) for key in ("duration_us", "decay") if key in rest}
    only = tree.Phase(amount=amount, **phase)  # type: ignore[arg-type]
    return tree.Reserve(name=name, phases=(only,), **rest)  # type: ignore[arg-type]


def test_a_colon_group_shares_its_duration_and_a_comma_begins_anew() -> None:
    assert reserves("mem=20:swp=50:duration=1h, lic=1:duration=2") == (
        reserve("mem", number(20), duration_us=60 * MINUTE_US),
        reserve("swp", number(50), duration_us=60 * MINUTE_US),
        reserve("lic", number(1), duration_us=2 * MINUTE_US),
    )


def test_without_a_duration_colon_and_comma_say_the_same() -> None:
    assert reserves("mem=20:swp=50") == reserves("mem=20,swp=50")
    assert reserves("mem=20:decay=1") == reserves("mem=20")


def test_blanks_anywhere_in_rusage_change_nothing() -> None:
    spaced = " mem = 20 , swp = 50 : duration = 2h : decay = 1 "
    assert reserves(spaced) == reserves("mem=20,swp=50:duration=2h:decay=1")


@pytest.mark.parametrize(
    ("text", "per"),
    [("mem=10", ""), ("mem=10/job", "job"), ("mem=10 / task", "task"), ("mem=10/host", "host")],
)
def test_the_method_of_an_amount_is_kept(text: str, per: str) -> None:
    assert reserves(text) == (reserve("mem", number(10), per=tree.Per(per)),)


def test_phases_keep_their_durations_and_the_last_may_last_to_the_end() -> None:
    assert reserves("mem=(50 20 10):duration=(10 1h):decay=(0 1)") == (
        tree.Reserve(
            name="mem",
            phases=(
                tree.Phase(amount=number(50), duration_us=10 * MINUTE_US),
                tree.Phase(amount=number(20), duration_us=60 * MINUTE_US, decay=1),
                tree.Phase(amount=number(10)),
            ),
        ),
    )


def test_a_threshold_and_alternatives_are_kept() -> None:
    made = parse("rusage[bw=1:threshold=5||mem=4GB]").tree
    assert made == tree.Simple(
        rusage=(
            (reserve("bw", number(1), threshold=number(5)),),
            (reserve("mem", Size(size_bytes=4 * GB)),),
        )
    )


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("hosts=1", {"form": "hosts", "count": 1}),
        ("hosts=-1", {"form": "hosts", "count": -1}),
        ("ptile=4", {"form": "ptile", "count": 4}),
        ("ptile='!'", {"form": "ptile", "slots": True}),
        ("ptile=!", {"form": "ptile", "slots": True}),
        ("block=2", {"form": "block", "count": 2}),
        ("stripe", {"form": "stripe"}),
        ("stripe=4", {"form": "stripe", "count": 4}),
        ("gtile=!", {"form": "gtile", "slots": True}),
        ("gtile=2", {"form": "gtile", "count": 2}),
    ],
)
def test_every_form_of_span_is_read(text: str, span: dict[str, object]) -> None:
    fields = {**span, "form": tree.SpanForm(str(span["form"]))}
    assert parse(f"span[{text}]").tree == tree.Simple(span=tree.Span(**fields))  # type: ignore[arg-type]


def test_counts_per_host_type_are_kept_in_order() -> None:
    made = parse("span[ptile='!',HP:8,'x-1':2] same[type]").tree
    assert made == tree.Simple(
        span=tree.Span(form=tree.SpanForm.PTILE, slots=True, by_type=(("HP", 8), ("x-1", 2))),
        same=(tree.Same(name="type"),),
    )


def test_order_same_and_cu_are_read() -> None:
    made = parse("order[-ut:mem] same[type:model] cu[type=rack:pref=maxavail:maxcus=2:excl]").tree
    assert made == tree.Simple(
        order=(tree.OrderKey(name="ut", reverse=True), tree.OrderKey(name="mem")),
        same=(tree.Same(name="type"), tree.Same(name="model")),
        cu=tree.Cu(type="rack", pref="maxavail", maxcus=2, excl=True),
    )


def test_affinity_is_read_with_all_its_parts() -> None:
    text = (
        "affinity[core(2,same=socket,exclusive=(socket,injob))*3:cpubind=core:membind=localonly"
        ":distribute=pack(socket=1)]"
    )
    assert parse(text).tree == tree.Simple(
        affinity=tree.Affinity(
            unit="core", units=2, count=3, same="socket", exclusive="socket",
            exclusive_scope="injob", cpubind="core", membind="localonly",
            distribute="pack", pack_level="socket", pack_count=1,
        )
    )  # fmt: skip


def test_a_compound_requirement_has_counted_terms_and_perhaps_an_open_last_one() -> None:
    made = parse("1*{a} + 31 * {select[b]} + {c}").tree
    assert made == tree.Compound(
        terms=(
            tree.Term(count=1, simple=tree.Simple(select=A)),
            tree.Term(count=31, simple=tree.Simple(select=B)),
            tree.Term(count=None, simple=tree.Simple(select=C)),
        )
    )


def test_alternatives_hold_simple_and_compound_ones_with_delays() -> None:
    made = parse("{a} || {2*{b}+4*{c}}@30 || {c}@ 5m").tree
    assert isinstance(made, tree.Alternatives)
    assert [branch.delay_us for branch in made.branches] == [None, 30_000_000, 300_000_000]
    assert isinstance(made.branches[1].body, tree.Compound)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("rusage[mem=4GB]", "rusage[ mem = 4096mb ]"),
        ("select[type=='X86_64']", "type==X86_64"),
        ("select[(a && b) && c]", "select[a&&b&&c]"),
        ("rusage[mem=20:swp=50:duration=60]", "rusage[mem=20:duration=1h,swp=50:duration=3600s]"),
        ("affinity[core]", "affinity[core(1)*1]"),
        ("span[hosts=1] rusage[mem=4.0]", "rusage [mem=4]\tspan [hosts=1]"),
        ("{a}||{b}@60", "{ select[a] } || { select[b] }@1m"),
    ],
)
def test_two_spellings_of_one_thing_print_alike(one: str, other: str) -> None:
    assert parse(one).tree == parse(other).tree
    assert canonical(parse(one).tree) == canonical(parse(other).tree)


def test_nodes_know_their_columns() -> None:
    made = parse("select[mem>4000] rusage[lic=1,mem=5]").tree
    assert isinstance(made, tree.Simple)
    assert made.select is not None
    assert made.select.column == 8
    assert [item.column for item in made.rusage[0]] == [25, 31]


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("span[hosts=1] select[a]", ["select_not_first"]),
        ("span[hosts=1]rusage[mem=1]", ["missing_blank"]),
        ("select[a] rusage[mem=1]", []),
    ],
)
def test_what_the_documents_do_not_promise_is_taken_with_a_warning(
    text: str, codes: list[str]
) -> None:
    assert [warning.code for warning in parse(text).warnings] == codes


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("-:mem=500:-bsd", "select[type==any && mem>=500 && !bsd]"),
        ("type=MIPS:maxmem=20", "select[type==MIPS && maxmem>=20]"),
        ("r15m=1.5:swp=12", "select[r15m<=1.5 && swp>=12]"),
        ("select[mem=1] span[ptile=2]", "select[mem>=1] span[ptile=2]"),
        ("it:linux", "select[it>=5 && linux]"),
        ("select[a] select[b] rusage[x=1] rusage[y=2]", "select[a && b] rusage[x=1,y=2]"),
        ("{select[a]}", "select[a]"),
        ("nano", "select[nano]"),
    ],
)
def test_compat_takes_what_practice_takes_and_says_so(text: str, printed: str) -> None:
    parsed = parse(text, mode="compat")
    assert canonical(parsed.tree) == printed
    assert parsed.warnings
