"""Several -R of one job, and the levels job, application and queue."""

import pytest

from xce.resreq import Code, ResreqError, canonical, merge_levels, merge_requirements, parse
from xce.resreq.tree import Tree


def tree_of(text: str) -> Tree | None:
    return parse(text).tree if text else None


def merged(job: str = "", application: str = "", queue: str = "") -> str:
    made = merge_levels(job=tree_of(job), application=tree_of(application), queue=tree_of(queue))
    return canonical(made) if made is not None else ""


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["span[hosts=1]", "a", "select[b && a]"], "select[a && b] span[hosts=1]"),
        (["a || b", "c"], "select[(a || b) && c]"),
        (["rusage[mem=1]", "rusage[tmp=2:duration=1]"], "rusage[mem=1,tmp=2:duration=1m]"),
        (["order[ut]", "order[mem:ut]"], "order[ut:mem]"),
        (["same[type]", "same[model:type]"], "same[type:model]"),
        (["span[ptile='!',X:2]", "same[type]"], "span[ptile='!',X:2] same[type]"),
        (["span[ptile=2]", "span[ptile=2]"], "span[ptile=2]"),
        (["rusage[a=1||b=1]", "rusage[c=1]"], "rusage[a=1,c=1||b=1,c=1]"),
        (["1*{a} + 2*{b}"], "1*{select[a]} + 2*{select[b]}"),
    ],
)
def test_several_requirements_of_a_job_add_up(texts: list[str], expected: str) -> None:
    assert canonical(merge_requirements(texts).tree) == expected


@pytest.mark.parametrize(
    ("texts", "code", "text"),
    [
        (["span[hosts=1]", "span[ptile=2]"], Code.CONFLICT, "span[ptile=2]"),
        (["affinity[core(1)]", "affinity[core(2)]"], Code.CONFLICT, "affinity[core(2)]"),
        (["rusage[mem=1]", "rusage[mem=2]"], Code.DUPLICATE, "rusage[mem=2]"),
        (["a", "1*{b} + 2*{c}"], Code.CONFLICT, "1*{b} + 2*{c}"),
        (["{a}||{b}", "c"], Code.CONFLICT, "{a}||{b}"),
        (["a", "rusage[mem]"], Code.BAD_VALUE, "rusage[mem]"),
    ],
)
def test_what_contradicts_itself_is_refused_with_its_text(
    texts: list[str], code: Code, text: str
) -> None:
    with pytest.raises(ResreqError) as caught:
        merge_requirements(texts)
    assert (caught.value.code, caught.value.text) == (code, text)


def test_counts_per_type_still_need_same_after_merging() -> None:
    with pytest.raises(ResreqError):
        merge_requirements(["span[ptile='!',X:2]", "a"])


@pytest.mark.parametrize(
    ("job", "application", "queue", "expected"),
    [
        ("", "", "", ""),
        ("a", "", "", "select[a]"),
        ("", "", "a", "select[a]"),
        ("", "a", "b", "select[a && b]"),
        ("a", "b", "c && a", "select[a && b && c]"),
        ("a || b", "", "c", "select[(a || b) && c]"),
        ("rusage[lic=3]", "rusage[lic=2,x=2]", "rusage[x=1,y=1]", "rusage[lic=3,x=2,y=1]"),
        ("rusage[lic=3]", "", "rusage[lic=1:duration=5]", "rusage[lic=3:duration=5m]"),
        ("rusage[lic=3/host]", "", "rusage[lic=1/job]", "rusage[lic=3/host]"),
        ("rusage[a=1||b=1]", "", "rusage[c=1]", "rusage[a=1,c=1||b=1,c=1]"),
        ("rusage[a=1||b=1]", "", "rusage[c=1||d=1]",
         "rusage[a=1,c=1||a=1,d=1||b=1,c=1||b=1,d=1]"),
        ("order[ut]", "order[mem]", "order[pg]", "order[ut]"),
        ("a", "order[mem]", "order[pg]", "select[a] order[mem]"),
        ("a", "", "order[pg]", "select[a]"),
        ("", "a", "order[pg]", "select[a] order[pg]"),
        ("span[ptile=2]", "span[ptile=3]", "span[hosts=1]", "span[ptile=2]"),
        ("a", "", "span[hosts=1]", "select[a] span[hosts=1]"),
        ("span[hosts=-1]", "", "span[hosts=1]", "span[hosts=-1]"),
        ("same[type]", "same[model]", "same[os:type]", "same[type:model:os]"),
        ("cu[maxcus=1]", "cu[maxcus=2]", "cu[maxcus=3]", "cu[maxcus=1]"),
        ("a", "", "affinity[core(2)]", "select[a] affinity[core(2)]"),
    ],
)  # fmt: skip
def test_levels_merge_section_by_section(
    job: str, application: str, queue: str, expected: str
) -> None:
    assert merged(job, application, queue) == expected


@pytest.mark.parametrize(
    ("job", "application", "queue", "expected"),
    [
        ("a", "1*{b} + 1*{c}", "d", "select[a && d]"),
        ("1*{a} + 1*{b}", "c", "d", "1*{select[a && d]} + 1*{select[b && d]}"),
        ("a", "", "1*{b} + 1*{c}", "select[a]"),
        ("", "a", "1*{b} + 1*{c}", "select[a]"),
        ("", "", "1*{b} + 1*{c}", "1*{select[b]} + 1*{select[c]}"),
        ("", "1*{a} + {b}", "rusage[x=1] span[ptile=2] order[ut]",
         ("1*{select[a] order[ut] rusage[x=1] span[ptile=2]} "
          "+ {select[b] order[ut] rusage[x=1] span[ptile=2]}")),
        ("{a} || {2*{b} + 1*{span[hosts=1]}}@5", "", "c span[ptile=2]",
         ("{select[a && c] span[ptile=2]} || {2*{select[b && c] span[ptile=2]} "
          "+ 1*{select[c] span[hosts=1]}}@5s")),
    ],
)  # fmt: skip
def test_compound_and_alternative_requirements_are_taken_whole(
    job: str, application: str, queue: str, expected: str
) -> None:
    assert merged(job, application, queue) == expected


@pytest.mark.parametrize(
    ("job", "queue"),
    [
        ("rusage[mem=8000]", "rusage[mem=4000]"),
        ("rusage[mem=8GB]", "rusage[mem=4000]"),
        ("rusage[mem=5]", "rusage[mem=4||mem=3]"),
        ("rusage[mem=1:duration=2h]", "rusage[mem=4:duration=1h]"),
        ("1*{rusage[mem=1]} + 1*{rusage[mem=8]}", "rusage[mem=4]"),
    ],
)
def test_no_job_reserves_more_of_a_load_index_than_its_queue(job: str, queue: str) -> None:
    with pytest.raises(ResreqError) as caught:
        merged(job, "", queue)
    assert caught.value.code is Code.OVER_QUEUE
    assert caught.value.lsf_text == "Cannot exceed queue's resource reservation"


@pytest.mark.parametrize(
    ("job", "queue"),
    [
        ("rusage[mem=4000]", "rusage[mem=4000]"),
        ("rusage[lic=9]", "rusage[lic=4]"),
        ("rusage[mem=4]", "rusage[mem=3||mem=4]"),
        ("rusage[mem=1:duration=1h]", "rusage[mem=4]"),
    ],
)
def test_what_stays_within_the_queue_is_taken(job: str, queue: str) -> None:
    assert merged(job, "", queue)


def test_alternatives_in_the_queue_do_not_go_with_a_compound_job() -> None:
    with pytest.raises(ResreqError) as caught:
        merged("1*{a} + 1*{b}", "", "rusage[x=1||y=1]")
    assert caught.value.code is Code.CONFLICT


def test_alternatives_of_two_levels_are_not_multiplied_without_bound() -> None:
    many = "rusage[" + "||".join(f"r{i}=1" for i in range(300)) + "]"
    assert merged(many, "", "rusage[x=1]").count("||") == 299
    with pytest.raises(ResreqError) as caught:
        merged(many, "", "rusage[x=1||y=1]")
    assert caught.value.code is Code.TOO_LARGE


def test_three_hundred_whole_alternatives_take_the_queue_into_each_once() -> None:
    many = "||".join(f"{{select[a>{i}]}}" for i in range(300))
    assert merged(many, "", "b").count("&& b") == 300
