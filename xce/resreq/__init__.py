"""The resource requirement language: text to tree, tree to text, and what a tree means.

`parse` and `canonical` are inverse to each other; `check` judges a tree against the resource
types of a site; `resolve` brings it down to what the session needs; `match` asks one host;
`merge_requirements` joins several -R, `merge_levels` job, application and queue. Nothing here
knows jobs, hosts or time.
"""

from xce.resreq.check import check, problems
from xce.resreq.errors import Code, Remark, ResreqError
from xce.resreq.match import match
from xce.resreq.merge import merge_levels, merge_requirements
from xce.resreq.parse import Parsed, parse, parse_select
from xce.resreq.print import canonical, canonical_select
from xce.resreq.resolve import resolve

__all__ = [
    "Code",
    "Parsed",
    "Remark",
    "ResreqError",
    "canonical",
    "canonical_select",
    "check",
    "match",
    "merge_levels",
    "merge_requirements",
    "parse",
    "parse_select",
    "problems",
    "resolve",
]
