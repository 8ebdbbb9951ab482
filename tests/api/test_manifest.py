"""The manifest: what it resolves to, and what is said of a wrong one."""

import json
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xce.model.config import Config, QueueConfig
from xce.model.group import Readiness
from xce.model.job import Topology
from xce.model.manifest import ManifestError, Origin, lint, remarks, resolve, schema, site_of
from xce.model.manifest.check import check
from xcecli.manifest_text import load_yaml

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "gangs").glob("*.yaml"))
ORIGIN = Origin(cwd="/work", environment="e1", user="ada", gid=7)
PLAIN = {"group": "g", "roles": [{"name": "w", "command": ["a"]}]}


def said(document: object, **site: object) -> list[str]:
    return [str(fault) for fault in lint(document, **site)]  # type: ignore[arg-type]


def with_role(**fields: object) -> dict[str, object]:
    return {"group": "g", "roles": [{"name": "w", "command": ["a"], **fields}]}


def test_the_smallest_manifest_gets_every_default() -> None:
    group, (spec,) = resolve(PLAIN, ORIGIN)
    assert (group.name, group.queue, group.priority, group.success) == ("g", "", -1, "all")
    assert (group.barrier_timeout_us, group.ready_timeout_us) == (60_000_000, 300_000_000)
    assert (group.placement_timeout_us, group.retries.max) == (0, 5)
    role = group.roles[0]
    assert (role.count, role.min, role.spares, role.ready) == (1, 1, 0, Readiness())
    assert (spec.command, spec.tasks, spec.run) == (("a",), 1, "once")
    assert (spec.cwd, spec.environment, spec.user, spec.gid) == ("/work", "e1", "ada", 7)
    assert spec.name == "g.w"


def test_defaults_of_the_configuration_win_over_built_in_ones() -> None:
    group, _ = resolve(PLAIN, ORIGIN, config=Config(barrier_timeout_us=5, ready_timeout_us=6))
    assert (group.barrier_timeout_us, group.ready_timeout_us) == (5, 6)


def test_the_pretrain_example_resolves_to_values_worked_out_by_hand() -> None:
    text = next(path for path in EXAMPLES if path.name == "pretrain.yaml").read_text()
    group, specs = resolve(load_yaml(text).document, ORIGIN)
    launcher, worker = group.roles
    assert group.topology == Topology(required="block", preferred="nvlink")
    assert group.placement_timeout_us == 7_200_000_000
    assert (launcher.ready.kind, launcher.ready.port) == ("port", "rendezvous")
    assert (worker.count, worker.min, worker.depends_on) == (4, 2, ("launcher",))
    assert worker.topology == Topology(preferred="nvlink")
    gpus, scratch = worker.claims
    assert (gpus.type, gpus.count, gpus.same, gpus.scope) == ("gpu", 4, "nvlink", "member")
    assert scratch.size_bytes == 10 << 30
    assert group.claims[0].scope == "group"
    lost, failed, rest = group.failure_policy
    assert (lost.reasons, lost.max_times) == (("host_lost", "claim_lost"), -1)
    assert (failed.roles, failed.codes, failed.max_times) == (("worker",), ((1, 127),), 3)
    assert (failed.backoff.first_us, failed.backoff.cap_us) == (5_000_000, 300_000_000)
    assert rest.action == "fail_group"
    assert specs[1].env == (("NCCL_DEBUG", "WARN"),)
    assert specs[1].resreq == "rusage[mem=8GB] span[hosts=1]"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_example_passes_lint(path: Path) -> None:
    assert said(load_yaml(path.read_text()).document) == []


WRONG = [
    ({}, "the field 'group' is missing; expected a name of letters"),
    ({"group": "g"}, "the field 'roles' is missing; expected a list of one or more roles"),
    ({**PLAIN, "rolls": 1}, "rolls: unknown field 'rolls' (did you mean 'roles'?)"),
    ({**PLAIN, "group": 7}, "group: found 7; expected a name of letters"),
    ({"group": "g", "roles": []}, "roles: the list is empty; expected a list of one or more"),
    (with_role(command="./a b"), "roles[0].command: found './a b'; expected a list of words"),
    (with_role(command=["a", 3]), "roles[0].command[1]: found 3; expected a text (quote numbers"),
    (with_role(count=0), "roles[0].count: 0 is out of range; expected a whole number, 1 to 16384"),
    (with_role(count=True), "roles[0].count: found true; expected a whole number, 1 to 16384"),
    (with_role(run="hosts"), "roles[0].run: 'hosts' is not known here; expected once, host or ta"),
    (with_role(env={"A": 1}), "roles[0].env.A: found 1; expected a text (quote numbers"),
    (with_role(min=2), "roles[0].min: min 2 is more than count 1"),
    ({**PLAIN, "barrier_timeout": 60}, "barrier_timeout: found 60; expected a duration like 90s"),
    ({**PLAIN, "barrier_timeout": "1d"}, "barrier_timeout: '1d' does not fit; expected a duration"),
    ({**PLAIN, "silence": "loud"}, "silence: 'loud' is not known here; expected wait"),
    (with_role(depends_on=["v"]), "roles[0].depends_on[0]: there is no role 'v'"),
    (with_role(depends_on=["w"]), "roles[0].depends_on: waits for itself: w -> w"),
    (with_role(ready={"port": "p"}), "roles[0].ready.port: there is no claim of the group or this"),
    (with_role(ready={}), "roles[0].ready: a field is missing; expected exactly one of port, line"),
    (with_role(ready={"done": True, "port": "p"}), "roles[0].ready: port and done exclude each"),
    (with_role(ready={"done": True, "every": "2s"}), "roles[0].ready: 'every' needs the field 'pr"),
    (with_role(claims=[{"name": "x"}]), "roles[0].claims[0]: a field is missing; expected exactly"),
    (with_role(claims=[{"name": "x", "type": "directory"}]), "roles[0].claims[0]: a claim of type"),
    (
        with_role(claims=[{"name": "x", "type": "gpu", "size": "1GB"}]),
        "roles[0].claims[0].size: gp",
    ),
    (
        with_role(claims=[{"nam": "x", "type": "gpu"}]),
        "roles[0].claims[0].nam: unknown field 'nam'",
    ),
    (
        {**PLAIN, "failure_policy": [{"action": "die"}]},
        "failure_policy[0].action: 'die' is not kno",
    ),
    (
        {**PLAIN, "failure_policy": [{"match": {"exit": "9-3"}, "action": "fail_group"}]},
        "failure_policy[0].match.exit: 9-3 is no range of exit codes",
    ),
    (
        {**PLAIN, "failure_policy": [{"match": {"role": "x"}, "action": "fail_group"}]},
        "failure_policy[0].match.role: there is no role 'x'; expected one of w",
    ),
    ([], "found a list; expected a mapping with the fields of a gang group"),
    (None, "found nothing; expected a mapping with the fields of a gang group"),
]


@pytest.mark.parametrize(("document", "beginning"), WRONG, ids=range(len(WRONG)))
def test_a_wrong_manifest_is_refused_with_the_place_and_what_was_expected(
    document: object, beginning: str
) -> None:
    assert said(document)[0].startswith(beginning), said(document)


LATER = [
    ({**PLAIN, "group": "g[1-3]"}, "group", "arrays of groups"),
    ({**PLAIN, "reservation": {"accumulate": "30m"}}, "reservation", "accumulation"),
    ({**PLAIN, "success_policy": "any"}, "success_policy", "only success_policy: all"),
    ({**PLAIN, "success_policy": {"roles": ["w"]}}, "success_policy", "only success_policy: all"),
    (with_role(spares=1), "roles[0].spares", "spares"),
    (with_role(ready={"probe": ["a"]}), "roles[0].ready.probe", "readiness by a probe"),
    (with_role(ready={"line": "up"}), "roles[0].ready.line", "readiness by a line"),
]


@pytest.mark.parametrize(("document", "where", "beginning"), LATER, ids=range(len(LATER)))
def test_what_this_version_cannot_do_is_refused_and_named(
    document: object, where: str, beginning: str
) -> None:
    (fault,) = lint(document)
    assert (fault.code, fault.where()) == ("unsupported", where)
    assert fault.message.startswith(beginning)


def test_what_is_acted_on_in_part_is_a_remark_and_no_fault() -> None:
    document = with_role(count=4, min=2)
    document["failure_policy"] = [{"action": "restart_group", "keep_allocation": "10m"}]
    assert lint(document) == ()
    assert [one.where() for one in remarks(document)] == [
        "failure_policy[0].keep_allocation",
    ]


def test_a_gang_that_says_what_becomes_of_it_when_degraded_is_repaired() -> None:
    plain, _ = resolve(PLAIN, ORIGIN, config=Config())
    short, _ = resolve({**PLAIN, "degraded": {}}, ORIGIN, config=Config())
    whole, _ = resolve(
        {**PLAIN, "degraded": {"grace": "5m", "then": "fail_group"}}, ORIGIN, config=Config()
    )
    found = [(one.repairs, one.degraded_grace_us, one.degraded_then) for one in (short, whole)]
    assert not plain.repairs
    assert found == [(True, 600_000_000, "restart_group"), (True, 300_000_000, "fail_group")]


def test_names_of_the_site_are_judged_when_they_are_known() -> None:
    site = site_of(Config(levels=("host", "nvlink"), queues=(QueueConfig(name="normal"),)))
    document = with_role(claims=[{"name": "x", "type": "gpux", "same": "nvlnk"}])
    document |= {"queue": "norml", "topology": {"required": "rack"}}
    assert lint(document) == ()
    assert said(document, site=site) == [
        "queue: there is no queue 'norml' (did you mean 'normal'?)",
        "topology.required: there is no level 'rack'; expected one of host nvlink",
        "roles[0].claims[0].type: there is no resource type 'gpux' (did you mean 'gpu'?)",
        "roles[0].claims[0].same: there is no level 'nvlnk' (did you mean 'nvlink'?)",
    ]


def test_a_circle_of_roles_is_shown_whole() -> None:
    roles = [
        {"name": "a", "command": ["x"]},
        {"name": "b", "command": ["x"], "depends_on": ["a", "d"]},
        {"name": "c", "command": ["x"], "depends_on": ["b"]},
        {"name": "d", "command": ["x"], "depends_on": ["c"]},
    ]
    assert said({"group": "g", "roles": roles}) == [
        "roles[1].depends_on: waits for itself: b -> d -> c -> b"
    ]


def test_more_members_than_a_group_can_have_are_refused() -> None:
    roles = [{"name": name, "command": ["x"], "count": 8193} for name in ("a", "b")]
    assert said({"group": "g", "roles": roles}) == [
        "roles: 16386 members; a group has at most 16384"
    ]


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(ManifestError) as caught:
        resolve({"group": "g", "x": 1, "roles": [{"name": "w", "cmd": []}]}, ORIGIN)
    assert [fault.pointer() for fault in caught.value.faults] == ["/x", "/roles/0/cmd", "/roles/0"]


def test_the_committed_schema_is_a_valid_json_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())


_SCALAR = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 20_000), st.sampled_from(["w", "5m", "all", "gpu"])
)
_VALUE = st.recursive(
    _SCALAR,
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(st.sampled_from(["name", "type", "use", "action", "done"]), inner),
    ),
    max_leaves=4,
)


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.data())
def test_the_check_accepts_what_a_json_schema_library_accepts(data: st.DataObject) -> None:
    role_fields = st.sampled_from(list(schema()["$defs"]["role"]["properties"]))
    role = {"name": "w", "command": ["a"], **data.draw(st.dictionaries(role_fields, _VALUE))}
    fields = st.sampled_from(list(schema()["properties"]))
    extra = data.draw(st.dictionaries(fields.filter(lambda name: name != "roles"), _VALUE))
    document = {"group": "g", **extra, "roles": [role]}
    library = jsonschema.Draft202012Validator(schema()).is_valid(document)
    assert (check(document, schema()) == ()) == library, json.dumps(document)
    if lint(document) == ():
        group, _ = resolve(document, ORIGIN)
        assert group.name == "g"
    if library:
        remarks(document)


def test_a_claim_gives_its_provider_parameters() -> None:
    claim = {"name": "a", "type": "static", "parameters": {"value": "x", "delay": "2"}}
    group, _ = resolve(with_role(claims=[claim]), ORIGIN, config=Config())
    assert group.roles[0].claims[0].parameters == (("delay", "2"), ("value", "x"))
    bad = {"name": "a", "type": "static", "parameters": {"delay": 2}}
    assert said(with_role(claims=[bad])) == [
        (
            "roles[0].claims[0].parameters.delay: found 2; expected a text (quote numbers, true "
            "and false)"
        )
    ]
