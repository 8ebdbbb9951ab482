"""Which hosts a select expression takes; what is not known is never taken for true."""

import pytest

from xce.model.resources import BUILT_IN, Kind, Layer, ResourceType
from xce.resreq import match, parse_select
from xce.resreq.match import first_failing, truth
from xce.resreq.print import canonical_select

MB = 1024 * 1024
TYPES = {
    **BUILT_IN,
    "vnode": ResourceType(name="vnode", layer=Layer.ATTRIBUTE, kind=Kind.BOOLEAN),
    "ssd": ResourceType(name="ssd", layer=Layer.ATTRIBUTE, kind=Kind.BOOLEAN),
}
HOST = {
    "hname": "host06-x12",
    "type": "X86_64",
    "model": "EPYC",
    "ncpus": 64,
    "mem": 5000 * MB,
    "swp": 1 * MB + 1,
    "maxmem": 8192 * MB,
    "ut": 250,
    "cpuf": 1500,
    "it": 7,
    "r1m": None,
    "status": None,
    "ssd": True,
    "rack": 3,
}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("mem>4999", True),
        ("mem>5000", False),
        ("mem>=5000", True),
        ("mem>=5000MB && mem<4.9GB", True),
        ("mem==5000", True),
        ("4999<mem", True),
        ("swp>1", True),
        ("swp<1.001", True),
        ("maxmem==8g", True),
        ("mem*2>maxmem", True),
        ("mem/2==2500", True),
        ("ncpus*100>mem+1399", True),
        ("ncpus*100>mem+1400", False),
        ("ncpus-60==4 && ncpus/64==1", True),
        ("-it<-6", True),
        ("ut<.3 && ut>0.2", True),
        ("ut==0.25", True),
        ("cpuf==1.5", True),
        ("type==X86_64 && model==EPYC", True),
        ("type==any", True),
        ("type!=any", False),
        ("type==local", True),
        ("model<='EPYC' && model>'EPY'", True),
        ("hname!='host06-x12'", False),
        ("hname=='host06-x12' || mem<0", True),
        ("ssd", True),
        ("ssd==1", True),
        ("!ssd", False),
        ("!vnode", True),
        ("vnode", False),
        ("vnode==0", True),
        ("rack==3 && rack", True),
        ("defined(ssd) && defined(r1m)", True),
        ("defined(nothing)", False),
        ("!defined(nothing)", True),
        ("(mem>1)+(ncpus>1)==2", True),
        ("mem>1>0", True),
        ("swap>1 && idle>5", True),
        ("0", False),
        ("1", True),
        ("ncpus/0==1", False),
    ],
)
def test_a_host_is_taken_or_not(text: str, holds: bool) -> None:
    assert match(parse_select(text), HOST, TYPES) is holds


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("r1m<5", None),
        ("!(r1m<5)", None),
        ("r1m<5 || mem>1", True),
        ("r1m<5 && mem<1", False),
        ("r1m<5 && mem>1", None),
        ("r1m<5 || mem<1", None),
        ("status==ok", None),
        ("status!=ok", None),
        ("nosuch>1", None),
        ("!nosuch", None),
        ("ncpus/0==1", None),
        ("type", None),
        ("type+1==2", None),
        ("mem=='x-y'", None),
    ],
)
def test_stale_and_missing_values_are_unknown_and_do_not_match(
    text: str, value: bool | None
) -> None:
    node = parse_select(text)
    assert truth(node, HOST, TYPES) is value
    assert match(node, HOST, TYPES) is (value is True)


def test_the_first_failing_condition_is_named() -> None:
    node = parse_select("ssd && mem>6000 && type==ARM")
    failing = first_failing(node, HOST, TYPES)
    assert failing is not None
    assert canonical_select(failing) == "mem>6000"
    assert first_failing(parse_select("ssd && mem>1"), HOST, TYPES) is None


def test_attributes_of_an_instance_are_matched_by_what_they_are() -> None:
    gpu = {"model": "H100", "memory_mb": 81920, "mig": False}
    assert match(parse_select("model==H100 && memory_mb>=80000 && !mig"), gpu)
    assert not match(parse_select("model==A100"), gpu)


def test_amounts_beyond_sixty_four_bits_are_compared_exactly() -> None:
    node = parse_select("mem<99999999999999999999")
    assert match(node, {"mem": 2**62})
    assert not match(parse_select("mem>99999999999999999999"), {"mem": 2**62})
