"""What a requirement comes down to for the session."""

import pytest

from xce.model.resources import BUILT_IN, InstanceNeed, Need, ResourceType, Scope
from xce.resreq import Code, ResreqError, parse, resolve

GB = 2**30
MB = 2**20
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
    ("text", "what", "column"),
    [
        ("order[ut]", "order[ ]", 7),
        ("same[type]", "same[ ]", 6),
        ("cu[type=rack]", "cu[ ]", 4),
        ("affinity[core(2)]", "affinity[ ]", 10),
        ("1*{mem>1} + 2*{mem>2}", "a compound requirement", 1),
        ("{mem>1} || {mem>2}", "an alternative requirement", 1),
        ("rusage[mem=1||swp=1]", "`||` in rusage[ ]", 15),
        ("rusage[mem=(2 1):duration=(1)]", "a list of amounts", 8),
        ("rusage[mem=2:duration=1]", "duration", 8),
        ("rusage[mem=2:threshold=1]", "threshold", 8),
        ("span[ptile='!']", "span[ptile with host types or '!']", 6),
        ("span[block=2]", "span[block]", 6),
        ("span[stripe]", "span[stripe]", 6),
        ("span[gtile=1]", "span[gtile]", 6),
        ("rusage[gpu=1/host]", "gpu per host", 8),
    ],
)
def test_what_the_session_cannot_honour_is_refused_and_never_dropped(
    text: str, what: str, column: int
) -> None:
    with pytest.raises(ResreqError) as caught:
        need(text)
    assert caught.value.code is Code.NOT_SUPPORTED_HERE
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
