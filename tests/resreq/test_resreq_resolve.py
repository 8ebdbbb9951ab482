"""What a requirement comes down to for the session."""

import pytest

from xce.model.need import (
    WHOLE,
    Alternative,
    CpuNeed,
    InstanceNeed,
    Need,
    Part,
    Phase,
    Term,
    Timed,
    UnitNeed,
)
from xce.model.resources import BUILT_IN, ResourceType, Scope
from xce.resreq import Code, ResreqError, parse, resolve
from xce.resreq.resolve import effective

GB = 2**30
MB = 2**20
HOUR_US = 3_600_000_000
SITE = {
    **BUILT_IN,
    "lic": ResourceType(name="lic", scope=Scope.SHARED, consumable=True),
    "tok": ResourceType(name="tok", consumable=True),
    "bw": ResourceType(name="bw", consumable=True, scale=1000),
}


def need(text: str, **local: str) -> Need:
    return resolve(parse(text).tree, types=SITE, local=local)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rusage[mem=8GB] span[hosts=1]", Need(per_task=(("mem", 8 * GB),), span_hosts=1)),
        ("rusage[mem=4000]", Need(per_task=(("mem", 4000 * MB),))),
        ("rusage[mem=0.5]", Need(per_task=(("mem", MB // 2),))),
        ("span[hosts=-1]", Need()),
        ("span[ptile=4]", Need(ptile=4)),
        ("rusage[tok=2,mem=1]", Need(per_task=(("mem", MB), ("tok", 2)))),
        ("rusage[lic=3]", Need(per_job=(("lic", 3),))),
        ("rusage[lic=3/task]", Need(per_task=(("lic", 3),))),
        ("rusage[lic=3/host]", Need(per_host=(("lic", 3),))),
        ("rusage[mem=1g/host,scratch=2g/job]",
         Need(per_host=(("mem", GB),), per_job=(("scratch", 2 * GB),))),
        ("rusage[swap=1]", Need(per_task=(("swp", MB),))),
        ("rusage[bw=1.5]", Need(per_task=(("bw", 1500),))),
        ("rusage[mem=0]", Need()),
        ("rusage[slots=2]", Need(per_task=(("slots", 2),))),
        ("rusage[gpu=2]", Need(instances=(InstanceNeed(type="gpu", count_per_task=2),))),
        ("rusage[directory=1GB]", Need(per_task=(("directory", GB),))),
        ("rusage[port=2]", Need(instances=(InstanceNeed(type="port", count_per_task=2),))),
        ("rusage[ngpus_physical=4.00/task]",
         Need(instances=(InstanceNeed(type="gpu", count_per_task=4),))),
    ],
)  # fmt: skip
def test_amounts_are_scaled_and_counted_for_what_they_are_for(text: str, expected: Need) -> None:
    assert need(text) == expected


@pytest.mark.parametrize(
    ("text", "select"),
    [
        ("mem>4000", "mem>4000MB"),
        ("4096<=mem", "4GB<=mem"),
        ("mem>1.5", "mem>1536KB"),
        ("mem>0.0000001", "mem>0.0000001"),
        ("ncpus>4 && swap>5", "ncpus>4 && swp>5MB"),
        ("mem>swp || defined(idle)", "mem>swp || defined(it)"),
        ("ncpus*2>mem/1024", "ncpus*2>mem/1024"),
        ("type=='X86_64' && type!=mem", "type==X86_64 && type!=mem"),
        ("!(ut>0.5)", "!(ut>0.5)"),
    ],
)
def test_the_stored_select_says_what_was_meant(text: str, select: str) -> None:
    assert need(f"select[{text}]").select == select


def test_local_is_replaced_where_the_submitter_is_known() -> None:
    text = "select[type==local && model!=local]"
    assert need(text, type="X86_64", model="E5-2690").select == "type==X86_64 && model!='E5-2690'"
    assert need(text).select == "type==local && model!=local"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("order[ut:-mem:slots]", Need(order=(("ut", 1), ("mem", 1), ("slots", -1)))),
        ("order[swap]", Need(order=(("swp", -1),))),
        ("same[type:model]", Need(same=("type", "model"))),
        ("cu[type=rack:pref=maxavail:maxcus=2:usablecuslots=4]",
         Need(units=UnitNeed(level="rack", pref="maxavail", most=2, least=4))),
        ("cu[balance:excl]", Need(units=UnitNeed(balance=True, exclusive="!"))),
        ("cu[excl=row]", Need(units=UnitNeed(exclusive="row"))),
        ("affinity[core(2,same=socket,exclusive=(socket,injob))*3:cpubind=core:membind=localonly]",
         Need(cpus=CpuNeed(unit="core", count=2, times=3, same="socket", exclusive="socket",
                           exclusive_scope="injob", bind="core", memory="localonly"))),
        ("affinity[mcm:distribute=pack(cpu=2)]",
         Need(cpus=CpuNeed(unit="numa", spread="pack", pack_level="thread", pack_most=2))),
        ("span[ptile='!']", Need(ptile=WHOLE)),
        ("span[ptile='!',HP:8] same[type]",
         Need(ptile=WHOLE, tile_by="type", tiles=(("HP", 8),), same=("type",))),
        ("span[ptile=A:2] same[model]",
         Need(tile_by="model", tiles=(("A", 2),), same=("model",))),
        ("span[block=4]", Need(block=4)),
        ("span[stripe]", Need(stripe=1)),
        ("span[stripe=4]", Need(stripe=1, stripe_most=4)),
        ("span[gtile=2]", Need(gtile=2)),
        ("span[gtile='!']", Need(gtile=WHOLE)),
        ("rusage[gpu=1/host]",
         Need(instances=(InstanceNeed(type="gpu", count_per_task=1, per="host"),))),
        ("rusage[mem=2:threshold=1]", Need(select="mem>=1MB", per_task=(("mem", 2 * MB),))),
        ("select[ut<1] rusage[r1m=1:threshold=2]",
         Need(select="ut<1 && r1m<=2", per_task=(("r1m", 1000),))),
        ("rusage[mem=2:duration=1h:decay=1]",
         Need(per_task=(("mem", 2 * MB),),
              timed=(Timed(name="mem", per="task", phases=(
                  Phase(amount=2 * MB, duration_us=HOUR_US, decay=1),)),))),
        ("rusage[mem=(50 10):duration=(10):decay=(0)]",
         Need(per_task=(("mem", 50 * MB),),
              timed=(Timed(name="mem", per="task", phases=(
                  Phase(amount=50 * MB, duration_us=HOUR_US // 6),
                  Phase(amount=10 * MB))),))),
        ("rusage[lic=1:duration=1h]", Need(per_job=(("lic", 1),))),
    ],
)  # fmt: skip
def test_every_section_comes_down_to_data(text: str, expected: Need) -> None:
    assert need(text) == expected


def test_alternatives_of_rusage_are_alternatives_of_the_need() -> None:
    made = need("select[type==X] rusage[tok=1||mem=1] span[hosts=1]")
    assert made.alternative(0).part == Part(select="type==X", span_hosts=1, per_task=(("tok", 1),))
    assert made.others == (
        Alternative(part=Part(select="type==X", span_hosts=1, per_task=(("mem", MB),))),
    )


def test_a_compound_is_terms_and_the_first_one_is_the_need() -> None:
    made = need("1*{mem>1GB} + {span[ptile=2]}")
    assert made.select == "mem>1GB"
    assert made.terms == (
        Term(tasks=1, part=Part(select="mem>1GB")),
        Term(tasks=0, part=Part(ptile=2)),
    )
    assert made.terms_of(0, 5) == ((1, Part(select="mem>1GB")), (4, Part(ptile=2)))


def test_a_delay_stays_with_its_alternative() -> None:
    made = need("{mem>1GB} || {2*{mem>2GB} + 1*{ut<1}}@30s")
    assert [one.delay_us for one in made.others] == [30_000_000]
    assert [tasks for tasks, _ in made.terms_of(1, 3)] == [2, 1]
    assert made.terms_of(0, 3) == ((3, Part(select="mem>1GB")),)


@pytest.mark.parametrize(
    ("text", "what", "column"),
    [
        ("rusage[gpu=1:duration=1h]", "gpu is held whole", 8),
        ("rusage[gpu=1:threshold=1]", "gpu is counted in pieces", 8),
    ],
)
def test_what_cannot_be_honoured_is_refused_and_never_dropped(
    text: str, what: str, column: int
) -> None:
    with pytest.raises(ResreqError) as caught:
        need(text)
    assert what in caught.value.message
    assert caught.value.column == column


def test_what_no_host_can_ever_have_is_refused() -> None:
    with pytest.raises(ResreqError) as caught:
        need("rusage[mem=99999999999999999999]")
    assert (caught.value.code, caught.value.column) == (Code.TOO_LARGE, 12)


def test_an_unknown_name_is_refused_before_anything_else() -> None:
    with pytest.raises(ResreqError) as caught:
        need("order[ut] rusage[nosuch=1]")
    assert caught.value.code is Code.UNKNOWN_NAME


def test_the_alternative_that_an_allocation_serves_can_be_said() -> None:
    text = "{select[mem>1GB] rusage[tok=1||mem=2]} || {2*{select[ut<1]} + 1*{span[hosts=1]}}@30s"
    assert [effective(text, index) for index in (0, 1, 2)] == [
        "select[mem>1GB] rusage[tok=1]",
        "select[mem>1GB] rusage[mem=2]",
        "2*{select[ut<1]} + 1*{span[hosts=1]}",
    ]
    assert len(need(text).others) == 2
    assert effective("select[ut<1]", 0) == "select[ut<1]"


def test_very_many_alternatives_are_refused() -> None:
    term = "{rusage[mem=1||mem=2||mem=3||mem=4]}"
    with pytest.raises(ResreqError) as caught:
        need(" + ".join(f"1*{term}" for _ in range(12)))
    assert caught.value.code is Code.TOO_LARGE
