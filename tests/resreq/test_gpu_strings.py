"""`-gpu` strings: what is read, printed, merged, and what it comes down to."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xce.model.need import InstanceNeed
from xce.resreq import canonical, parse, tree
from xce.resreq.options.gpu import (
    GpuError,
    GpuRequest,
    canonical_gpu,
    instances,
    merge_gpu,
    not_honoured,
    parse_gpu,
    per_task,
    requirement,
)

GB = 2**30


@pytest.mark.parametrize(
    ("text", "made", "printed"),
    [
        ("-", GpuRequest(), "-"),
        ("num=2", GpuRequest(num=2), "num=2"),
        ("num=2/host", GpuRequest(num=2), "num=2"),
        (" num = 2/task ", GpuRequest(num=2, per=tree.Per.TASK), "num=2/task"),
        ("mode=shared:num=1", GpuRequest(num=1, mode="shared"), "num=1:mode=shared"),
        ("num=1:gmem=12G:aff=yes", GpuRequest(num=1, gmem_bytes=12 * GB, aff="yes"),
         "num=1:aff=yes:gmem=12GB"),
        ("gmem=512", GpuRequest(gmem_bytes=GB // 2), "gmem=512MB"),
        ("mps=yes,nocvd,shared", GpuRequest(mps=("yes", "shared", "nocvd")),
         "mps=yes,shared,nocvd"),
        ("mps=per_gpu", GpuRequest(mps=("per_gpu",)), "mps=per_gpu"),
        ("nvlink=yes", GpuRequest(glink="yes"), "glink=yes"),
        ("gtile=!:block=yes", GpuRequest(gtile="!", block="yes"), "block=yes:gtile=!"),
        ("gtile=4:gpack=no", GpuRequest(gtile="4", gpack="no"), "gpack=no:gtile=4"),
        ("gvendor=amd:j_exclusive=yes", GpuRequest(gvendor="amd", j_exclusive="yes"),
         "j_exclusive=yes:gvendor=amd"),
        ("gmodel=TeslaV100", GpuRequest(gmodel="TeslaV100"), "gmodel=TeslaV100"),
        ("gmodel=TeslaV100-32G", GpuRequest(gmodel="TeslaV100", model_bytes=32 * GB),
         "gmodel=TeslaV100#32GB"),
        ("gmodel=A100-SXM4#40G", GpuRequest(gmodel="A100-SXM4", model_bytes=40 * GB),
         "gmodel=A100-SXM4#40GB"),
        ("mig=3", GpuRequest(mig=(3,)), "mig=3"),
        ("mig=3/2", GpuRequest(mig=(3, 2)), "mig=3/2"),
    ],
)  # fmt: skip
def test_a_string_becomes_this_request_and_prints_so(
    text: str, made: GpuRequest, printed: str
) -> None:
    assert parse_gpu(text) == made
    assert canonical_gpu(made) == printed
    assert parse_gpu(printed) == made


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "column 1: the GPU requirement is empty (`-` asks for the default)"),
        ("num=0", "column 5: num is a whole number from 1 to 65536, not '0'"),
        ("num=x", "column 5: num is a whole number from 1 to 65536, not 'x'"),
        ("num=2/x",
         "column 7: a number of GPUs is per task or per host, not per 'x' (write /task or /host)"),
        ("num", "column 1: num has no value (write num=VALUE)"),
        ("num=1:", "column 7: a part is empty; expected key=value"),
        ("nmu=1", "column 1: no key of -gpu is called 'nmu' (did you mean `num`?)"),
        ("num=1:num=2", "column 11: num is given twice"),
        ("glink=yes:nvlink=yes", "column 18: glink is given twice (nvlink is its old name)"),
        ("num=1:mode=exclusive",
         "column 12: no value of mode: 'exclusive' (did you mean `exclusive_process`?)"),
        ("aff=maybe", "column 5: no value of aff: 'maybe' (write yes or no)"),
        ("mps=no,shared", "column 8: 'shared' does not stand behind mps=no"),
        ("gvendor=amd:mps=yes", "column 17: mps does not go together with gvendor=amd"),
        ("mode=exclusive_process:gvendor=amd",
         "column 6: mode does not go together with gvendor=amd"),
        ("mps=yes,shared:mig=2", "column 5: mps does not go together with mig"),
        ("mig=1/2/3", "column 5: mig is G or G/C"),
        ("gmodel=#40G", "column 8: '' is no GPU model (as nvidia-smi shows it, or its beginning)"),
    ],
)  # fmt: skip
def test_a_refusal_has_a_column_and_a_cure(text: str, told: str) -> None:
    with pytest.raises(GpuError) as caught:
        parse_gpu(text)
    assert str(caught.value) == told
    assert caught.value.lsf_text == "Invalid GPU requirement"
    assert "^" in caught.value.caret()


def test_a_request_is_the_reservation_that_lsf_adds_for_it() -> None:
    made = requirement(parse_gpu("num=2"))
    assert canonical(made) == "rusage[ngpus_physical=2/host]"
    assert made == parse("rusage[ngpus_physical=2/host]").tree
    assert canonical(requirement(parse_gpu("num=2/task"))) == "rusage[ngpus_physical=2/task]"
    assert canonical(requirement(parse_gpu("-"))) == "rusage[ngpus_physical=1/host]"


def test_the_need_of_a_task_has_a_condition_on_model_and_memory() -> None:
    request = parse_gpu("num=2/task:gmodel=NVIDIA H200:gmem=100GB")
    assert instances(request) == InstanceNeed(
        type="gpu",
        count_per_task=2,
        select="model>='NVIDIA H200' && model<'NVIDIA H201' && mem>=100GB",
    )
    assert instances(parse_gpu("-")) == InstanceNeed(type="gpu", count_per_task=1)


@pytest.mark.parametrize(
    ("text", "tasks", "span", "expected"),
    [
        ("num=2", 1, "", 2),
        ("num=2/task", 8, "", 2),
        ("num=4", 4, "span[hosts=1]", 1),
        ("num=8", 4, "span[hosts=1]", 2),
        ("num=1", 4, "span[hosts=1]", 0),
        ("num=4", 8, "span[ptile=2]", 2),
        ("num=4", 7, "span[ptile=2]", 0),
        ("num=4", 2, "span[ptile=4]", 2),
        ("num=4", 4, "", 0),
        ("num=4", 4, "span[ptile='!']", 0),
    ],
)
def test_a_number_per_host_is_one_per_task_where_every_host_gets_the_same(
    text: str, tasks: int, span: str, expected: int
) -> None:
    made = parse(span).tree if span else tree.Simple()
    assert isinstance(made, tree.Simple)
    assert per_task(parse_gpu(text), tasks=tasks, span=made.span) == expected


def test_what_cannot_be_honoured_yet_is_kept_and_named() -> None:
    request = parse_gpu(
        "num=1:mode=exclusive_process:mps=yes:j_exclusive=yes:aff=yes:gmodel=V100#32GB:gtile=2"
    )
    assert not_honoured(request) == (
        *("mode=exclusive_process", "mps=yes", "aff=yes", "gtile=2"),
        "the memory in gmodel=V100#32GB",
    )
    assert not_honoured(parse_gpu("num=1:mode=shared:mps=no:j_exclusive=yes:aff=no")) == ()


def test_levels_are_merged_key_by_key_the_highest_first() -> None:
    job = parse_gpu("num=2:mode=shared")
    application = parse_gpu("num=4/task:gmodel=V100#32GB")
    queue = parse_gpu("mode=exclusive_process:gmodel=A100:j_exclusive=yes")
    merged = merge_gpu(job, application, queue)
    assert merged is not None
    assert canonical_gpu(merged) == "num=2:mode=shared:j_exclusive=yes:gmodel=V100#32GB"
    assert merge_gpu(None, None) is None
    assert merge_gpu(None, job) == job
    with pytest.raises(GpuError, match="mps does not go together with gvendor=amd"):
        merge_gpu(parse_gpu("mps=yes"), parse_gpu("gvendor=amd"))


SWITCH = st.sampled_from(["", "yes", "no"])
REQUESTS = st.builds(
    GpuRequest,
    num=st.integers(0, 9),
    mode=st.sampled_from(["", "shared", "exclusive_process"]),
    mps=st.sampled_from([(), ("no",), ("yes",), ("yes", "shared"), ("per_gpu", "nocvd")]),
    j_exclusive=SWITCH,
    aff=SWITCH,
    gpack=SWITCH,
    gmodel=st.sampled_from(["", "A100", "NVIDIA H200", "A100-SXM4"]),
    gmem_bytes=st.integers(0, 2**40),
    gtile=st.sampled_from(["", "!", "2"]),
    glink=SWITCH,
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(REQUESTS)
def test_every_request_prints_to_a_text_that_reads_back(request: GpuRequest) -> None:
    assert parse_gpu(canonical_gpu(request)) == request
