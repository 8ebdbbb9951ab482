"""The option tables of the commands that people loop over: one source for two parsers.

`fast.py` reads a command line with them and imports next to nothing; `tree.py` makes click's
options and help from them. Whatever the fast parser takes, click takes with the same meaning;
whatever it does not understand it leaves to click, so that refusals and help have one voice.

Kinds: `text`, `int` and `count` (`4`, `4,16`) take a value, `list` takes one and may be repeated,
`flag` takes none; `apart` is a text that is a word of its own. `bsub` takes a value that
`line/bsub.py` judges, as it does all options of bsub that are not here.
"""

from __future__ import annotations


class Option:
    """One option: its spellings, the field it fills, and what help says."""

    __slots__ = ("about", "field", "kind", "meta", "names")

    def __init__(self, names: str, field: str, kind: str, meta: str, about: str) -> None:
        self.names = tuple(names.split())
        self.field = field
        self.kind = kind
        self.meta = meta
        self.about = about


class Command:
    """A command: its options, the name of its words, and its help."""

    __slots__ = ("about", "examples", "options", "stops", "words")

    def __init__(
        self,
        about: str,
        words: str,
        options: tuple[Option, ...],
        examples: str,
        *,
        stops: bool = False,
    ) -> None:
        self.about = about
        self.words = words
        self.options = (*options, *COMMON)
        self.examples = examples
        # The first word that is no option ends the options: what follows is a command of its own.
        self.stops = stops


COMMON = (
    Option("--home", "home", "text", "DIR", "home of the controller [XCE_HOME, ./.xce or ~/.xce]"),
    Option("--url", "url", "text", "URL", "http://127.0.0.1:PORT or unix:PATH [XCE_URL]"),
)
_FORMAT = Option("--format", "format", "text", "FORMAT", "table, wide or json")
_JSON = Option("--json", "json", "flag", "", "short for --format json")

SUBMIT = Command(
    "Run a command as a job. All words after the options belong to it; no shell is used unless\n"
    "you ask for one. Without a command, a script is read from the standard input; its #BSUB\n"
    "lines are options, and those of the command line win over them. All options of bsub are\n"
    "taken; those that are not acted on are named in a warning.",
    "[COMMAND [ARG]...]",
    (
        Option("-J --name", "name", "text", "NAME", "name of the job [the command]"),
        Option("-n --tasks", "tasks", "count", "N[,MAX]", "tasks, or the least and the most [1]"),
        Option("-R --resreq", "resreq", "list", "TEXT", "resource requirement; may be repeated"),
        Option("-x --exclusive", "exclusive", "flag", "", "have its hosts for itself"),
        Option("-q --queue", "queue", "text", "QUEUE", "queue [the default queue]"),
        Option("-app --app", "application", "text", "NAME", "application profile [none]"),
        Option("-o --output", "stdout", "text", "FILE", "output; %J is the job [xce-%J.out]"),
        Option("-e --error", "stderr", "text", "FILE", "errors [they join the output]"),
        Option("-i --input", "stdin", "text", "FILE", "input [nothing]"),
        Option("-w --after", "after", "apart", "EXPR", "wait for jobs: 'done(12) && exit(prep)'"),
        Option("-g --job-group", "job_group", "text", "PATH", "job group: /nightly/build"),
        Option(
            "-ti --end-if-impossible",
            "end_if_impossible",
            "flag",
            "",
            "end when what -w waits for can never be",
        ),
        Option("-H --hold", "held", "flag", "", "submit it held; `xcecli resume` lets it go"),
        Option("-sp --priority", "priority", "int", "N", "priority in its queue"),
        Option("-W", "run_limit_us", "bsub", "[H:]M", "run limit; it is ended when it is over"),
        Option("-We", "run_estimate_us", "bsub", "[H:]M", "estimated run time; no limit"),
        Option("-b", "begin", "bsub", "TIME", "begin not before [[[YEAR:]MONTH:]DAY:]HOUR:MINUTE"),
        Option("-t", "terminate", "bsub", "TIME", "end it at that time"),
        Option("-r --rerunnable", "rerunnable", "flag", "", "run it again when its host is lost"),
        Option("-Q", "requeue_exits", "bsub", "EXITS", "run it again on these: 'all ~0', '3 4'"),
        Option("-M", "mem_limit_bytes", "bsub", "SIZE", "memory limit on each host"),
        Option("-U --reservation", "reservation", "text", "NAME", "join an advance reservation"),
        Option("-P --project", "project", "text", "NAME", "project"),
        Option("-G --user-group", "user_group", "text", "GROUP", "user group that is charged"),
        Option("-Jd --description", "description", "text", "TEXT", "what it is, for people"),
        Option("--stop-after", "stop_after", "text", "TIME", "stop it when its host is cut off"),
        Option("--claim", "claims", "list", "NAME=CLAIM", "a claim to use; may be repeated"),
        Option("--env", "env", "text", "LIST", "all, none, or a list: all,~SECRET,MODE=fast"),
        Option("--cwd", "cwd", "text", "DIR", "directory of the job [this one]"),
        Option("--script", "script", "text", "FILE", "run this script and heed its #BSUB lines"),
        Option("-K --wait", "wait", "flag", "", "wait for its end and exit with its code"),
        Option("--id", "id", "flag", "", "print only the id"),
        _JSON,
    ),
    """\
  xcecli submit sleep 60
  xcecli submit -n 4 -R 'rusage[mem=8GB] span[hosts=1]' ./train.sh
  xcecli submit -q normal -J build -o build.%J.log make -j4
  xcecli submit -W 1:30 -b 20:00 ./nightly.sh
  xcecli submit -w 'done(build)' ./test.sh
  xcecli submit --wait sh -c 'echo $XCE_JOB; exit 3'
  xcecli submit < job.sh""",
    stops=True,
)

JOBS = Command(
    "List jobs that have not ended, or the jobs that are named.",
    "[JOB]...",
    (
        Option("-a --all", "all", "flag", "", "those that have ended, too"),
        Option("-A --arrays", "arrays", "flag", "", "arrays, each with the counts of its elements"),
        Option("-p --pending", "pending", "flag", "", "only those that wait"),
        Option("-r --running", "running", "flag", "", "only those that run"),
        Option("-s --suspended", "suspended", "flag", "", "only those that are suspended or held"),
        Option("-d --ended", "ended", "flag", "", "only those that have ended"),
        Option("-u --user", "user", "text", "USER", "only this user's (a name or a uid)"),
        Option("-q --queue", "queue", "text", "QUEUE", "only this queue's"),
        Option(
            "-J --name", "name", "text", "NAME", "only of this name; * and ? stand for anything"
        ),
        Option("-g --group", "group", "text", "GROUP", "only of this gang (g7) or job group (/a)"),
        Option("--limit", "limit", "int", "N", "show no more than N [200]"),
        Option("-l --long", "long", "flag", "", "everything of each, and why it waits"),
        Option("-w --wide", "wide", "flag", "", "short for --format wide"),
        _FORMAT,
        _JSON,
    ),
    """\
  xcecli jobs
  xcecli jobs -a -q normal
  xcecli jobs -l 12
  xcecli jobs --json 12 13
  xcecli jobs '12[1-50]'
  xcecli jobs -A
  xcecli jobs -g g7 -w""",
)

KILL = Command(
    "End jobs or gangs. A member's end by hand ends its gang.",
    "[JOB]...",
    (
        Option("-g --job-group", "job_group", "text", "PATH", "your jobs of this job group"),
        _JSON,
    ),
    """\
  xcecli kill 12
  xcecli kill -g /nightly
  xcecli kill 12 13 g7""",
)

# A number with more digits is left to click, which says that it is none.
DIGITS_MAX = 18

FAST = {"submit": SUBMIT, "jobs": JOBS, "kill": KILL}

Values = dict[str, object]


def parse(command: Command, argv: list[str]) -> tuple[Values, list[str]] | None:
    """Fields and words of a command line, None when it is better left to click."""
    by_name = {name: option for option in command.options for name in option.names}
    values: Values = {}
    words: list[str] = []
    at = 0
    while at < len(argv):
        word = argv[at]
        at += 1
        if word == "--":
            return values, words + argv[at:]
        if not word.startswith("-") or word == "-":
            if command.stops:
                return values, [word, *argv[at:]]
            words.append(word)
            continue
        name, given = (word, None) if word in by_name else _split(word)
        if command.stops and word[1] != "-" and given is not None and given[:1].isalpha():
            # `-oo`, `-gpu`, `-Jname`: which option that is takes the whole table of bsub.
            return None
        option = by_name.get(name)
        if option is None or (option.kind == "flag" and given is not None):
            return None
        if option.kind == "bsub" or (option.kind == "apart" and given is not None):
            return None
        if option.kind != "flag" and given is None:
            if at == len(argv):
                return None
            given = argv[at]
            at += 1
        if not _keep(option, given, values):
            return None
    return values, words


def _split(word: str) -> tuple[str, str | None]:
    """An option and the value that is written together with it: `--name=x`, `-Jx`."""
    if word.startswith("--"):
        name, mark, value = word.partition("=")
        return name, value if mark else None
    return word[:2], word[2:] or None


def _keep(option: Option, given: str | None, values: Values) -> bool:
    if option.kind == "flag":
        values[option.field] = True
    elif option.kind == "int":
        text = given or ""
        if not text.isascii() or not text.isdigit() or len(text) > DIGITS_MAX:
            return False
        values[option.field] = int(text)
    elif option.kind == "count":
        least, mark, most = (given or "").partition(",")
        numbers = (least, most) if mark else (least,)
        if not all(one.isascii() and one.isdigit() and len(one) <= DIGITS_MAX for one in numbers):
            return False
        values[option.field] = given if mark else int(least)
    elif option.kind == "list":
        before = values.setdefault(option.field, [])
        if not isinstance(before, list):
            return False
        before.append(given)
    else:
        values[option.field] = given
    return True
