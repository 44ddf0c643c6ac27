"""Findings as a pytest file that needs nothing of kvscope.

Each test repeats the shortest sequence of a finding and asks, call by call, for what a right cache
answers: it fails as long as the class is as it was found, and passes once it is repaired.
"""

import json
import re
from collections.abc import Sequence

from core.contract.calls import HANGS, Append
from core.contract.check import Verdict
from core.contract.plan import Plan
from core.contract.report import mechanism
from core.contract.subject import NotDrivableError, Source
from core.contract.written_calls import (
    BLOCKS_RULE,
    REORDER_RULE,
    TYPES_RULE,
    body,
    type_body,
)
from core.contract.written_head import CONVERT, FIRST, HEAD, IN_TIME, LYING


def test_file(source: Source, plan: Plan, verdicts: Sequence[Verdict]) -> str:
    """The text of the file: a test for each rule that failed.

    Raises:
        NotDrivableError: the class is driven by an adapter, which a test without kvscope lacks.
    """
    if not plan.surface.spelling:
        raise NotDrivableError(
            "--write-tests writes tests that need nothing of kvscope, and an adapter does; "
            "leave one of the two out"
        )
    failed = [verdict for verdict in verdicts if verdict.state == "fail"]
    text = _head(source, plan)
    if any(_lies_otherwise(verdict) for verdict in failed):
        text += LYING
    if any(verdict.rule == REORDER_RULE for verdict in failed):
        text += FIRST
    if any(_hangs(verdict) for verdict in failed):
        text = text.replace("import importlib", "import functools\nimport importlib", 1)
        text = text.replace("import sys\n", "import sys\nimport threading\nimport time\n", 1)
        text += IN_TIME
    return text + "".join(_test(source, plan, verdict) for verdict in failed)


def _head(source: Source, plan: Plan) -> str:
    sizes, library = plan.sizes(1), plan.surface.library
    return HEAD.format(
        name=source.name,
        library=library,
        imports="import torch\n" if library == "torch" else "",
        file=json.dumps(str(source.path)),
        layout=plan.surface.layout,
        n_heads=sizes.n_heads,
        d_k=sizes.d_k,
        d_v=sizes.d_v,
        batch=sizes.batch,
        dtype=sizes.dtype,
        whole=plan.is_whole,
        convert=CONVERT[library],
    )


def _lies_otherwise(verdict: Verdict) -> bool:
    calls = () if verdict.case is None else verdict.case.calls
    return any(isinstance(call, Append) and call.k.kind != "plain" for call in calls)


def _hangs(verdict: Verdict) -> bool:
    return verdict.found is not None and verdict.found.found.startswith(HANGS)


def _test(source: Source, plan: Plan, verdict: Verdict) -> str:
    assert verdict.case is not None  # noqa: S101  (a failure has a case)
    assert verdict.found is not None  # noqa: S101
    name = re.sub(r"\W+", "_", verdict.title.lower()).strip("_")
    if verdict.rule == TYPES_RULE:
        found = type_body(source, plan, verdict.case, verdict.found)
    else:
        is_about_blocks = verdict.rule == BLOCKS_RULE
        found = body(source, plan, verdict.case, verdict.found, is_about_blocks=is_about_blocks)
    lines = "\n".join(f"    {line}" for line in found)
    timed = "@in_time\n" if _hangs(verdict) else ""
    said = mechanism(verdict).replace("\n", " ")
    return f"\n\n{timed}def test_rule_{verdict.rule}_{name}():\n    # found: {said}\n{lines}\n"
