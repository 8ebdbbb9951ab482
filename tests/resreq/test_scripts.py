"""#BSUB lines and bsub command lines: what is an option, what is a value, what is told."""

import shlex

import pytest

from tests.resreq.cases import load
from xce.resreq.options.bsub import BSUB, Support, nearest_option, split_option
from xce.resreq.options.script import Reading, read_command_line, read_script


def options(reading: Reading) -> list[tuple[str, str]]:
    return [(given.option, given.value) for given in reading.options]


def told(reading: Reading) -> list[tuple[str, int, int]]:
    """Errors, then warnings but for options that are not acted on, as (code, line, column)."""
    found = [*reading.errors, *(one for one in reading.warnings if one.code != "not_honoured")]
    return [(one.code, one.line, one.column) for one in found]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("#BSUB -n 4", [("-n", "4")]),
        ("#BSUB\t-n\t4\t# four", [("-n", "4")]),
        ("# BSUB -n 4", [("-n", "4")]),
        ("#BSUB -n4 -M1000 -W1:00", [("-n", "4"), ("-M", "1000"), ("-W", "1:00")]),
        ('#BSUB -R"span[ptile=16]"', [("-R", "span[ptile=16]")]),
        ("#BSUB -Rspan[ptile=16]", [("-R", "span[ptile=16]")]),
        ("#BSUB -qnormal -oout.%J", [("-q", "normal"), ("-o", "out.%J")]),
        ('#BSUB -J "a # b" # c', [("-J", "a # b")]),
        ("#BSUB -J a#b", [("-J", "a#b")]),
        ("#BSUB -J 'a b' -e \"x y\"", [("-J", "a b"), ("-e", "x y")]),
        ('#BSUB -J "say \\"hi\\""', [("-J", 'say "hi"')]),
        ("#BSUB -J a\\ b", [("-J", "a b")]),
        ("#BSUB -N # don't worry", [("-N", "")]),
        ("#BSUB -gpu -", [("-gpu", "-")]),
        ("#BSUB -R -:mem=500", [("-R", "-:mem=500")]),
        ("#BSUB -R span[ptile='!']", [("-R", "span[ptile='!']")]),
        ("#BSUB -R select[hname!='host-1']", [("-R", "select[hname!='host-1']")]),
        ("#BSUB -x -x -N", [("-x", ""), ("-x", ""), ("-N", "")]),
        ("#BSUB -We+ 10 -Wep 50%", [("-We+", "10"), ("-Wep", "50%")]),
        ("##BSUB -n 4", []),
        ("# #BSUB -n 4", []),
        ("### BSUB -n 4", []),
        ("# the BSUB -n line", []),
        ("#BSUBX -n 4", []),
    ],
)
def test_a_line_holds_these_options(line: str, expected: list[tuple[str, str]]) -> None:
    reading = read_script(f"#!/bin/sh\n{line}\n")
    assert options(reading) == expected
    assert reading.errors == ()


@pytest.mark.parametrize(
    ("line", "expected", "code", "column"),
    [
        ("#BSUB -queue normal", [("-queue", "normal")], "unknown_option", 7),
        ("#BSUB --time=10 -n 4", [("--time=10", ""), ("-n", "4")], "unknown_option", 7),
        ("#BSUB -n", [], "no_value", 7),
        ("#BSUB -o -e err", [("-e", "err")], "no_value", 7),
        ('#BSUB -J "open', [("-J", "open")], "open_quote", 10),
        ("#BSUB -J \u201ca b\u201d", [("-J", "a b")], "smart_quote", 10),
        ("#BSUB -R \u2018mem>1\u2019 -n 2", [("-R", "mem>1"), ("-n", "2")], "smart_quote", 10),
        ("#BSUB \u2013n 4", [("-n", "4")], "dash", 7),
        ("#BSUB -n four", [("-n", "four")], "bad_value", 10),
        ("#BSUB -n 8,4", [("-n", "8,4")], "bad_value", 10),
        ("#BSUB -W 1h", [("-W", "1h")], "bad_value", 10),
        ("#BSUB -M 4Q", [("-M", "4Q")], "bad_value", 10),
        ("#BSUB -b 25:00", [("-b", "25:00")], "bad_value", 10),
        ("#BSUB -Q 'all ~x'", [("-Q", "all ~x")], "bad_value", 14),
        ("#BSUB -q ''", [("-q", "")], "empty", 11),
        ("#BSUB -R 'rsuage[mem=1]'", [("-R", "rsuage[mem=1]")], "unknown_section", 11),
        ("#BSUB -R mem>1 && x", [("-R", "mem>1")], "stray", 16),
        ("#BSUB -J a[]", [("-J", "a[]")], "syntax", 12),
        ("#BSUB -w 'done(1'", [("-w", "done(1")], "syntax", 17),
        ("#BSUB -gpu num=x", [("-gpu", "num=x")], "bad_value", 16),
        ("#BSUB -Zs", [("-Zs", "")], "line_only", 7),
        ("#BSUB -q=normal", [("-q", "=normal")], "equals", 7),
        ("#BSUB -n\u00a04", [("-n", "4")], "odd_blank", 9),
        ("#BSUB -env 'all, 1X=2'", [("-env", "all, 1X=2")], "bad_value", 18),
        ("#BSUB -json job.json", [("-json", "job.json")], "no_job", 7),
    ],
)
def test_what_is_wrong_has_a_place_and_the_rest_is_read(
    line: str, expected: list[tuple[str, str]], code: str, column: int
) -> None:
    reading = read_script(f"{line}\n")
    assert options(reading) == expected
    assert (code, 1, column) in told(reading)
    assert not reading.valid


@pytest.mark.parametrize(
    ("line", "expected", "code"),
    [
        ("#BSUB -N 2", [("-N", "")], "stray"),
        ("#BSUB -R mem>1; -n 2", [("-R", "mem>1"), ("-n", "2")], "semicolon"),
        ("#BSUB -n 2 ;", [("-n", "2")], "semicolon"),
        ("#BSUB -J <job name> -n 2", [("-J", "<job name>"), ("-n", "2")], "placeholder"),
        ("#BSUB -P [project]", [("-P", "[project]")], "placeholder"),
        ("#BSUB -q %QUEUE%", [("-q", "%QUEUE%")], "placeholder"),
        ("#BSUB -q {{ queue }}", [("-q", "{{")], "stray"),
        ("#BSUB -o $HOME/out.%J", [("-o", "$HOME/out.%J")], "variable"),
        ("#BUSB -n 4", [], "misspelt"),
        ("#bsub -n 4", [], "misspelt"),
        ("BSUB -n 4", [], "bare"),
        (" #BSUB -n 4", [], "indented"),
        ("#BSUB-n 4", [], "glued"),
        ("#SBATCH -n 4", [], "foreign"),
        ("#BSUB -n 4 \\", [("-n", "4")], "unfinished"),
    ],
)
def test_what_is_odd_is_told(line: str, expected: list[tuple[str, str]], code: str) -> None:
    reading = read_script(f"#!/bin/sh\n{line}\n")
    assert options(reading) == expected
    assert code in [found for found, _, _ in told(reading)]


def test_job_and_index_in_a_file_name_are_no_placeholders() -> None:
    assert told(read_script("#BSUB -o out.%J_%I.txt -e %J%I\n")) == []


def test_windows_lines_and_a_byte_order_mark_are_told_and_left_out() -> None:
    reading = read_script("\ufeff#!/bin/csh\r\n#BSUB -q normal\r\n#BSUB -N\r\nsleep 1\r\n")
    assert options(reading) == [("-q", "normal"), ("-N", "")]
    assert reading.interpreter == "/bin/csh"
    assert sorted(told(reading)) == [("byte_order_mark", 1, 1), ("crlf", 1, 1)]


def test_a_line_goes_on_in_the_next_directive() -> None:
    reading = read_script("#BSUB -n 4 \\\n#BSUB -q normal \\\n#BSUB -x\necho\n")
    assert [(g.option, g.line) for g in reading.options] == [("-n", 1), ("-q", 2), ("-x", 3)]
    assert told(reading) == []


def test_the_whole_script_is_read_and_what_stands_late_is_told_once() -> None:
    reading = read_script("#BSUB -n 4\necho a\n#BSUB -q normal\necho b\n#BSUB -x\n")
    assert options(reading) == [("-n", "4"), ("-q", "normal"), ("-x", "")]
    assert told(reading) == [("after_command", 3, 1)]


def test_the_last_of_an_option_counts_and_every_requirement() -> None:
    reading = read_script("#BSUB -n 4 -R a -q x\n#BSUB -n 2 -R 'rusage[mem=1]' -q x\n")
    assert reading.effective()["-n"].value == "2"
    assert reading.resreq == "select[a] rusage[mem=1]"
    assert reading.fields() == {"tasks": 2, "queue": "x", "resreq": [reading.resreq]}
    assert told(reading) == [("overridden", 2, 7)]


def test_requirements_that_contradict_each_other_are_told_of_the_second() -> None:
    reading = read_script("#BSUB -R span[hosts=1]\n#BSUB -R span[ptile=2]\n")
    assert told(reading) == [("conflict", 2, 15)]
    assert reading.resreq == ""


def test_a_number_of_gpus_is_given_once() -> None:
    reading = read_script("#BSUB -R rusage[ngpus_physical=2]\n#BSUB -gpu num=2\n")
    assert told(reading) == [("conflict", 2, 7)]


def test_gpus_are_a_reservation_of_the_requirement() -> None:
    reading = read_script("#BSUB -n 4 -R 'span[hosts=1] rusage[mem=1GB]' -gpu num=8\n")
    assert reading.resreq == "rusage[mem=1GB,ngpus_physical=2] span[hosts=1]"


def test_every_option_that_is_not_acted_on_is_named_with_what_it_is() -> None:
    reading = read_script("#BSUB -c 90 -nnodes 2 -oo x -n 2,4\n")
    assert [one.message for one in reading.warnings] == [
        "-c (CPU time limit) is kept but not acted on yet",
        "-nnodes (hosts, taken whole) belongs to other systems and is not acted on",
    ]
    assert reading.valid


def test_all_options_of_the_reference_are_in_the_table() -> None:
    named = """-n -q -J -Jd -g -G -P -app -sla -Lp -w -ti -o -e -i -oo -eo -is -outdir -W -We -We+
    -Wep -c -M -v -S -D -F -C -p -T -R -m -x -U -hostfile -H -r -rn -Q -b -t -E -Ep -k -mig -XF -L
    -cwd -env -I -Ip -Is -ISs -K -tty -f -data -stage -B -N -u -notify -sp -aps -ar -rnc -ptl -eptl
    -pack -json -yaml -jsdl -template -gpu -network -csm -alloc_flags -nnodes -rcacct -clusters
    -Zs -a -wa -wt"""
    assert [name for name in named.split() if name not in BSUB] == []
    assert all(option.about and option.name == name for name, option in BSUB.items())
    honoured = [option for option in BSUB.values() if option.support is Support.HONOURED]
    assert all(option.field for option in honoured)


@pytest.mark.parametrize(
    ("word", "name", "value"),
    [
        ("-oo", "-oo", ""),
        ("-oout", "", ""),
        ("-oo/tmp/x", "-oo", "/tmp/x"),
        ("-M1000", "-M", "1000"),
        ("-gpunum=1", "", ""),
        ("-email", "", ""),
        ("-nodes", "", ""),
        ("-Jx", "-J", "x"),
        ("-x1", "", ""),
        ("-", "", ""),
    ],
)
def test_a_value_written_together_is_told_from_a_longer_name(
    word: str, name: str, value: str
) -> None:
    option, rest = split_option(word)
    assert (option.name if option else "", rest) == (name, value)


def test_a_misspelt_option_is_answered_with_the_nearest() -> None:
    words = ["-queue", "-outdr", "-j", "-nnode", "--partition=x", "-Rr", "-zzz"]
    assert [nearest_option(word) for word in words] == [
        *("-q", "-outdir", "-J", "-nnodes", "-q", "-R", ""),
    ]


# --- command lines ------------------------------------------------------------------------------


def test_the_first_word_that_is_no_option_begins_the_command() -> None:
    reading = read_command_line(shlex.split("-We 0:59 -M 26 -oo log.txt cmd1 -f 0.2 -G x -b y"))
    assert options(reading) == [("-We", "0:59"), ("-M", "26"), ("-oo", "log.txt")]
    assert reading.command == ("cmd1", "-f", "0.2", "-G", "x", "-b", "y")


def test_collected_command_lines_are_read() -> None:
    expected_errors = {"cl022": ["syntax"]}
    for record in load("cmdlines.jsonl"):
        words = shlex.split(record["cmd"].replace("$(pwd)", "/tmp"))
        if words[0] != "bsub":
            continue
        reading = read_command_line(words[1:])
        errors = [one.code for one in reading.errors]
        assert errors == expected_errors.get(record["id"], []), record
        assert reading.command, record
        assert not reading.command[0].startswith("-")


def test_a_collected_command_line_with_everything() -> None:
    line = (
        "-n 6 -gpu num=1:gmem=12G:aff=yes -R same[gpumodel] -R rusage[mem=64GB] -R span[ptile=6] "
        '-e "err 1" -o "out 1" -q short-gpu "./job.sh" '
    )
    reading = read_command_line(shlex.split(line))
    assert reading.command == ("./job.sh",)
    assert reading.fields() == {
        "tasks": 6,
        "stderr": "err 1",
        "stdout": "out 1",
        "queue": "short-gpu",
        "resreq": ["rusage[mem=64GB,ngpus_physical=1/host] span[ptile=6] same[gpumodel]"],
    }
    assert [one.code for one in reading.warnings] == ["not_honoured"]
