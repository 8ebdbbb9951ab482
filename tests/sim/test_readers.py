"""Readers: hand-made lines, broken lines with their numbers, and what the given traces hold."""

import gzip
import os
from collections import Counter
from pathlib import Path

import pytest

from xce.sim.clusters import openb_hosts, pool, shaped, total
from xce.sim.readers import BrokenTrace, Trace, TraceJob, read_trace

S = 1_000_000
given = pytest.mark.skipif("XCE_SHARED" not in os.environ, reason="needs the given traces")


def traces() -> Path:
    return Path(os.environ["XCE_SHARED"]) / "traces"


def of(tmp_path: Path, text: str, form: str = "swf", *, strict: bool = False) -> Trace:
    path = tmp_path / "trace"
    path.write_text(text)
    return read_trace(path, form, strict=strict)


def test_all_eighteen_fields_of_swf(tmp_path: Path) -> None:
    line = "7 100 5 60 4 55.5 2048 8 120 4096 1 3 4 5 6 7 2 30"
    assert of(tmp_path, f"; Computer: X\n;MaxProcs: 16\n{line}\n").jobs == (
        TraceJob(
            number=7, submit_us=100 * S, run_us=60 * S, tasks=8, limit_us=120 * S,
            mem_bytes=4096 * 1024, wait_us=5 * S, status=1, user=3, group=4, queue="6",
            name="program-5", after=2, think_us=30 * S,
        ),
    )  # fmt: skip


def test_missing_values_of_swf(tmp_path: Path) -> None:
    """No processors asked for: those used; no estimate: none; a line may end early."""
    trace = of(tmp_path, "1 0 -1 10 4 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1\n2 0.0 -1 -1 3\n")
    one, two = trace.jobs
    assert (one.tasks, one.limit_us, one.user, one.queue) == (4, 0, -1, "")
    assert (two.tasks, two.run_us, two.wait_us) == (3, -1, -1)


def test_jobs_are_in_order_of_submission_and_number(tmp_path: Path) -> None:
    trace = of(tmp_path, "3 5 -1 1 1\n2 9 -1 1 1\n1 5 -1 1 1\n")
    assert [job.number for job in trace.jobs] == [1, 3, 2]


def test_headers_are_kept_and_gzip_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log.swf.gz"
    path.write_bytes(
        gzip.compress(b"; MaxProcs: 100\n; Note: uses the EASY scheduler\n1 0 0 1 1\n")
    )
    trace = read_trace(path, "swf")
    assert trace.header == {"MaxProcs": "100", "Note": "uses the EASY scheduler"}
    assert len(trace.jobs) == 1


BROKEN = {
    "1 0 0 ten 1": "run: expected a number, found 'ten'",
    "1 0 0": "expected 18 fields, at least 5 of them, found 3",
    "1 0 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1": "expected 18 fields, at least 5 of them, found 19",
    "1 -5 0 1 1": "job 1 is submitted before the trace begins",
    "1 0 0 1 0": "job 1 asks for 0 processors",
    "9 0 0 1 1": "job 9 was on line 2 already",
    "1 0 0 inf 1": "run: expected a number, found 'inf'",
}


@pytest.mark.parametrize("line", BROKEN)
def test_a_broken_line_is_told_with_its_number_and_strict_stops(tmp_path: Path, line: str) -> None:
    text = f"; a header\n9 0 0 1 1\n\n{line}\n8 0 0 1 1\n"
    trace = of(tmp_path, text)
    assert [job.number for job in trace.jobs] == [8, 9]
    assert [(fault.line, fault.message) for fault in trace.faults] == [(4, BROKEN[line])]
    with pytest.raises(BrokenTrace, match=r"^trace:4: "):
        of(tmp_path, text, strict=True)


def test_files_of_which_nothing_can_be_made(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(b"1 0 0 1 1\n")[:-6])
    with pytest.raises(BrokenTrace, match="cut off"):
        read_trace(path, "swf")
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BrokenTrace, match="not UTF-8"):
        read_trace(path, "swf")
    with pytest.raises(BrokenTrace, match="No such file"):
        read_trace(tmp_path / "none", "swf")


def test_pods_of_openb(tmp_path: Path) -> None:
    head = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
    text = f"{head}deletion_time,scheduled_time\nopenb-pod-0041,12000,2,1,460,T4|P100,LS,Running,"
    trace = of(tmp_path, f"{text}5,25,6\nopenb-pod-x,1,1,1,1,,LS,Running,5,25,6\n1,2\n", "openb")
    assert trace.jobs == (
        TraceJob(
            number=42, name="openb-pod-0041", submit_us=5 * S, run_us=20 * S, gpus=1,
            gpu_milli=460, gpu_models=("T4", "P100"), cpu_milli=12000, mem_bytes=2 << 20,
            queue="LS",
        ),
    )  # fmt: skip
    assert [fault.line for fault in trace.faults] == [3, 4]
    with pytest.raises(BrokenTrace, match="the columns memory_mib, num_gpu, gpu_milli are missing"):
        of(tmp_path, "name,cpu_milli\n", "openb")


def test_philly_tables_with_dates_or_seconds(tmp_path: Path) -> None:
    text = "jobid,vc,submitted_time,num_gpus,run_time,user\n"
    text += "app_1,vc-a,2017-10-03 12:00:30,8,600,u1\napp_2,vc-b,2017-10-03 12:00:00,1,60,u2\n"
    two, one = of(tmp_path, text, "philly").jobs
    assert (one.submit_us, one.tasks, one.gpus, one.run_us) == (30 * S, 8, 1, 600 * S)
    assert (one.queue, one.name, one.user) == ("vc-a", "app_1", 1)
    assert (two.submit_us, two.user) == (0, 2)
    seconds = of(tmp_path, "job_id,submit_time,gpus,duration\n5,100,2,60\n", "philly").jobs
    assert (seconds[0].number, seconds[0].submit_us) == (5, 100 * S)
    with pytest.raises(BrokenTrace, match="no column says gpus"):
        of(tmp_path, "job_id,submit_time,duration\n5,100,60\n", "philly")


def test_own_lines_jobs_and_gangs(tmp_path: Path) -> None:
    text = '{"id": 1, "submit": 0, "run": 3600, "tasks": 8, "limit": "2h", "user": 1001}\n'
    text += '{"id": 2, "submit": 60, "run": "10m", "members": 4, "gpus": 8}\n{"id": 3}\n'
    trace = of(tmp_path, text, "lines")
    assert trace.jobs[0].limit_us == 7200 * S
    assert (trace.jobs[1].members, trace.jobs[1].gpus, trace.jobs[1].run_us) == (4, 8, 600 * S)
    assert trace.faults[0].line == 3


def test_lsb_acct_by_hand(tmp_path: Path) -> None:
    line = '"JOB_FINISH" "10.1" 160 7 1000 33 2 100 0 0 120 "anna" "normal" "a ""b"" c" "" "" "h" '
    line += '"" "" "" "" "f" 1 "x" 2 "h1" "h1" 64 60.0 "name" "sleep 1" -1.0'
    text = f'"HOST_STATUS" "10" 1\n{line}\n"JOB_FINISH" "10.1" 1\n{line[:80]}"\n'
    trace = of(tmp_path, text, "lsb.acct")
    (job,) = trace.jobs
    assert (job.number, job.submit_us, job.wait_us, job.run_us) == (7, 0, 20 * S, 40 * S)
    assert (job.tasks, job.user, job.queue, job.name, job.status) == (2, 1000, "normal", "name", 1)
    assert [fault.line for fault in trace.faults] == [3, 4]


@given
def test_the_given_lsf_lines() -> None:
    trace = read_trace(traces() / "lsb.acct.sample", "lsb.acct", strict=True)
    found = {job.number: job for job in trace.jobs}
    assert (found[7610].run_us, found[7610].wait_us) == (839 * S, S)
    assert (found[386].run_us, found[386].queue, found[386].tasks) == (3 * S, "sender", 1)


@given
def test_the_given_swf_logs_have_what_their_papers_say() -> None:
    kth = read_trace(traces() / "KTH-SP2-1996-2.swf.gz", "swf", strict=True)
    assert len(kth.jobs) == 28_489
    assert kth.header["MaxProcs"] == "100"
    assert max(job.tasks for job in kth.jobs) == 100
    filtered = read_trace(traces() / "KTH-SP2-predictsim.swf.gz", "swf", strict=True)
    assert len(filtered.jobs) == 28_481
    assert sum(job.run_us > 0 for job in kth.jobs) == 28_481
    sdsc = read_trace(traces() / "SDSC-SP2-predictsim.swf.gz", "swf", strict=True)
    assert (len(sdsc.jobs), sdsc.header["MaxProcs"]) == (54_006, "128")


@given
def test_the_given_deep_learning_log() -> None:
    trace = read_trace(traces() / "philly-sia.swf.gz", "swf", strict=True)
    assert len(trace.jobs) == 82_247
    assert trace.unit == "gpu"
    sizes = Counter(job.tasks for job in trace.jobs)
    wanted = {1: 76_627, 2: 1_818, 4: 1_870, 8: 1_643, 16: 199, 32: 67, 64: 6, 128: 3}
    assert {size: sizes[size] for size in wanted} == wanted
    assert len({job.queue for job in trace.jobs}) == 15


@given
def test_the_given_pods_and_nodes() -> None:
    pods = read_trace(traces() / "openb_pod_list_default.csv.gz", "openb", strict=True)
    assert len(pods.jobs) == 8_152
    counts = Counter(job.gpus for job in pods.jobs)
    assert counts == {1: 6_989, 2: 16, 4: 15, 8: 44, 0: 1_088}
    more = read_trace(traces() / "openb_pod_list_multigpu50.csv.gz", "openb", strict=True)
    assert more.jobs
    nodes = openb_hosts(traces() / "openb_node_list_all_node.csv.gz")
    assert (len(nodes), total(nodes, "gpu")) == (1_523, 6_212)


def test_clusters_in_few_words() -> None:
    assert total(pool(128), "slots") == 128
    hosts = shaped("10x8gpu")
    assert (next(iter(hosts)), len(hosts)) == ("n01", 10)
    assert (total(hosts, "slots"), total(hosts, "gpu")) == (80, 80)
    for wrong in ("", "8", "x8", "0x8", "10x8cpu", "10x8gpux"):
        with pytest.raises(ValueError, match="expected hosts like"):
            shaped(wrong)
