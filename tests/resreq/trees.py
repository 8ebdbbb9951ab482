"""Random trees in normal form: whatever the parser can make, and nothing else."""

from hypothesis import strategies as st

from xce.resreq import tree

WORDS = st.from_regex(r"\A[A-Za-z_][A-Za-z0-9_]{0,8}\Z").filter(
    lambda word: word[:3].lower() not in ("inf", "nan")
)
KEPT_WORDS = {"duration", "decay", "threshold"}
NUMBERS = st.builds(
    lambda digits, places: tree.Number(digits=digits, places=places if digits % 10 else 0),
    st.integers(0, 10**12),
    st.integers(0, 6),
)
SIZES = st.builds(tree.Size, size_bytes=st.integers(0, 2**62))
AMOUNTS = NUMBERS | SIZES
PLAIN = st.text(st.characters(min_codepoint=32, max_codepoint=0x17F, exclude_characters="'\""))
TEXTS = st.builds(
    lambda text, quote: tree.Text(text=text + quote), PLAIN, st.sampled_from(["", "'", '"'])
)
NAMES = st.builds(tree.Name, name=WORDS)
COMPARED_TEXTS = st.builds(
    lambda op, name, text: tree.infix((op,), (name, text)),
    st.sampled_from(sorted(tree.COMPARISONS)),
    NAMES,
    TEXTS,
)
LEAVES = NUMBERS | SIZES | NAMES | COMPARED_TEXTS | st.builds(tree.Defined, name=WORDS)


def _infix(parts: st.SearchStrategy[tree.Expr]) -> st.SearchStrategy[tree.Expr]:
    def make(draw: st.DrawFn) -> tree.Expr:
        ops = draw(
            st.sampled_from(tree.LEVELS).flatmap(
                lambda level: st.lists(st.sampled_from(sorted(level)), min_size=1, max_size=3)
            )
        )
        terms = draw(st.lists(parts, min_size=len(ops) + 1, max_size=len(ops) + 1))
        return tree.infix(tuple(ops), tuple(terms))

    return st.composite(make)()


def _inner(parts: st.SearchStrategy[tree.Expr]) -> st.SearchStrategy[tree.Expr]:
    several = st.lists(parts, min_size=2, max_size=4)
    return st.one_of(
        several.map(tree.conjunction),
        several.map(tree.disjunction),
        parts.map(lambda part: tree.Not(term=part)),
        parts.map(lambda part: tree.Neg(term=part)),
        _infix(parts),
    )


def _texts_are_compared(node: tree.Expr) -> bool:
    """No run has swallowed the comparison of a text."""
    texts = [part for part in tree.children(node) if isinstance(part, tree.Text)]
    if texts and len(tree.children(node)) > 2:
        return False
    return all(_texts_are_compared(part) for part in tree.children(node))


EXPRESSIONS = st.recursive(LEAVES, _inner, max_leaves=12).filter(_texts_are_compared)
DURATIONS = st.integers(0, 10**6).map(lambda seconds: seconds * 1_000_000)
ORDER = st.lists(
    st.builds(tree.OrderKey, name=WORDS, reverse=st.booleans()), min_size=1, max_size=3
).map(tuple)


@st.composite
def _phases(draw: st.DrawFn, name: str) -> tuple[tree.Phase, ...]:
    if name != "mem" or draw(st.booleans()):
        duration_us = draw(st.none() | DURATIONS)
        decay = draw(st.integers(0, 1)) if duration_us is not None else 0
        return (tree.Phase(amount=draw(AMOUNTS), duration_us=duration_us, decay=decay),)
    sizes = sorted(draw(st.lists(st.integers(0, 2**50), min_size=2, max_size=4)), reverse=True)
    phases = []
    for index, size in enumerate(sizes):
        last = index == len(sizes) - 1
        duration_us = draw(st.none() | DURATIONS) if last else draw(DURATIONS)
        decay = draw(st.integers(0, 1)) if duration_us is not None else 0
        amount = tree.Size(size_bytes=size)
        phases.append(tree.Phase(amount=amount, duration_us=duration_us, decay=decay))
    return tuple(phases)


@st.composite
def _usage(draw: st.DrawFn) -> tuple[tree.Reserve, ...]:
    word = st.just("mem") | WORDS.filter(lambda word: word not in KEPT_WORDS)
    names = draw(st.lists(word, min_size=1, max_size=3, unique=True))
    return tuple(
        tree.Reserve(
            name=name,
            phases=draw(_phases(name)),
            per=draw(st.sampled_from(tree.Per)),
            threshold=draw(st.none() | AMOUNTS),
        )
        for name in names
    )


RUSAGE = st.lists(_usage(), min_size=1, max_size=3).map(tuple)


@st.composite
def _span_and_same(draw: st.DrawFn) -> tuple[tree.Span | None, tuple[tree.Same, ...]]:
    keys = draw(st.lists(WORDS | st.sampled_from(["type", "model"]), max_size=3, unique=True))
    form = draw(st.none() | st.sampled_from(tree.SpanForm))
    count, slots, pairs = draw(st.integers(1, 999)), False, ()
    if form is tree.SpanForm.HOSTS:
        count = draw(st.sampled_from([1, -1]))
    elif form in (tree.SpanForm.PTILE, tree.SpanForm.GTILE) and draw(st.booleans()):
        count, slots = 0, True
        if {"type", "model"} <= set(keys):
            keys.remove("type")
    elif form is tree.SpanForm.STRIPE:
        count = draw(st.integers(0, 9))
    if form is tree.SpanForm.PTILE and set(keys) & {"type", "model"} and draw(st.booleans()):
        types = st.dictionaries(WORDS | PLAIN, st.integers(1, 99), min_size=1, max_size=3)
        count, pairs = 0, tuple(draw(types).items())
    same = tuple(tree.Same(name=key) for key in keys)
    if form is None:
        return None, same
    return tree.Span(form=form, count=count, slots=slots, by_type=pairs), same


@st.composite
def _cu(draw: st.DrawFn, inner: bool) -> tree.Cu | None:
    balance = not inner and draw(st.booleans())
    excl = not inner and draw(st.booleans())
    preferences = ["", "config", "maxavail", "minavail"] + ([] if balance else ["bestfit"])
    cu = tree.Cu(
        type=draw(st.just("") | WORDS),
        pref=draw(st.sampled_from(preferences)),
        maxcus=draw(st.integers(0, 9)),
        usablecuslots=0 if balance else draw(st.integers(0, 9)),
        balance=balance,
        excl=excl,
        excl_level=draw(st.just("") | WORDS) if excl else "",
    )
    return None if cu == tree.Cu() else cu


UNITS = st.sampled_from(["numa", "socket", "core", "thread", "cpu", "mcm"])


@st.composite
def _affinity(draw: st.DrawFn) -> tree.Affinity:
    exclusive = draw(st.just("") | UNITS)
    distribute = draw(st.sampled_from(["", "any", "balance", "pack"]))
    pack_level = draw(st.just("") | UNITS) if distribute == "pack" else ""
    return tree.Affinity(
        unit=draw(UNITS),
        units=draw(st.integers(1, 64)),
        count=draw(st.integers(1, 4)),
        same=draw(st.just("") | UNITS),
        exclusive=exclusive,
        exclusive_scope=draw(st.sampled_from(["", "injob", "alljobs"])) if exclusive else "",
        cpubind=draw(st.sampled_from(["", "numa", "socket", "core", "thread"])),
        membind=draw(st.sampled_from(["", "localonly", "localprefer"])),
        distribute=distribute,
        pack_level=pack_level,
        pack_count=draw(st.integers(1, 9)) if pack_level else 0,
    )


@st.composite
def _simple(draw: st.DrawFn, inner: bool) -> tree.Simple:
    span, same = draw(_span_and_same())
    return tree.Simple(
        select=draw(st.none() | EXPRESSIONS),
        order=draw(st.just(()) | ORDER),
        rusage=draw(st.just(()) | RUSAGE),
        span=span,
        same=same,
        cu=draw(_cu(inner)),
        affinity=draw(st.none() | _affinity()),
    )


def simples(*, inner: bool = False) -> st.SearchStrategy[tree.Simple]:
    """Simple requirements; `inner` ones may stand inside a compound."""
    return _simple(inner).filter(lambda made: made != tree.Simple())


@st.composite
def _compound(draw: st.DrawFn) -> tree.Compound:
    parts = draw(st.lists(simples(inner=True), min_size=1, max_size=3))
    terms = [tree.Term(count=draw(st.integers(1, 999)), simple=part) for part in parts]
    if len(terms) > 1 and draw(st.booleans()):
        terms[-1] = tree.Term(count=None, simple=parts[-1])
    return tree.Compound(terms=tuple(terms))


@st.composite
def _alternatives(draw: st.DrawFn) -> tree.Alternatives:
    bodies = draw(st.lists(simples(inner=True) | _compound(), min_size=2, max_size=3))
    delays = [None, *(draw(st.none() | DURATIONS) for _ in bodies[1:])]
    pairs = zip(bodies, delays, strict=True)
    return tree.Alternatives(branches=tuple(tree.Branch(body=b, delay_us=d) for b, d in pairs))


TREES = simples() | _compound() | _alternatives()
