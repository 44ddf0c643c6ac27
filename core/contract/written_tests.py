"""Findings as a pytest file that needs nothing of kvscope.

Each test repeats the shortest sequence of a finding and asks, call by call, for what a right cache
answers: it fails as long as the class is as it was found, and passes once it is repaired.
"""

import json
import os
import re
from collections.abc import Sequence
from pathlib import Path

from core.contract.calls import HANGS, Append
from core.contract.check import Verdict
from core.contract.plan import Plan
from core.contract.report import mechanism
from core.contract.subject import Source
from core.contract.written_calls import (
    BLOCKS_RULE,
    REORDER_RULE,
    TYPES_RULE,
    body,
    type_body,
)
from core.contract.written_head import (
    BLOCKS,
    CONVERT,
    FIRST,
    HEAD,
    IN_TIME,
    LOAD,
    LOAD_ADAPTED,
    LYING,
)

BLOCKS_OF_POOL = 39
N_UP = 2
"""Folders up from that of the tests: further away, a path from there says less than a whole one."""


def test_file(source: Source, plan: Plan, verdicts: Sequence[Verdict], folder: Path | None) -> str:
    """The text of the file: a test for each rule that failed.

    Args:
        source: the class.
        plan: what is known of it.
        verdicts: of the rules.
        folder: where the file will be; files that lie near are named from there. None: not known.
    """
    failed = [verdict for verdict in verdicts if verdict.state == "fail"]
    text = _head(source, plan, folder)
    if any(_lies_otherwise(verdict) for verdict in failed):
        text += LYING
    if any(verdict.rule == REORDER_RULE for verdict in failed):
        text += FIRST
    if any(verdict.rule == BLOCKS_OF_POOL for verdict in failed):
        text += BLOCKS
    if any(_hangs(verdict) for verdict in failed):
        text += IN_TIME
        text = _importing(text, "functools", "threading", "time")
    return text + "".join(_test(source, plan, verdict) for verdict in failed)


def _head(source: Source, plan: Plan, folder: Path | None) -> str:
    sizes, library = plan.sizes(1), plan.surface.library
    file, load = _place(source.path, folder), LOAD
    if source.adapter is not None:
        file += f"\nADAPTER = {_place(source.adapter, folder)}"
        load = LOAD_ADAPTED
    text = HEAD.format(
        name=source.name,
        library=library,
        imports="import torch\n" if library == "torch" else "",
        file=file,
        load=load.format(name=source.name),
        layout=plan.surface.layout,
        n_heads=sizes.n_heads,
        d_k=sizes.d_k,
        d_v=sizes.d_v,
        batch=sizes.batch,
        dtype=sizes.dtype,
        whole=plan.is_whole,
        convert=CONVERT[library],
    )
    return text if source.adapter is None else _importing(text, "functools", "types")


def _place(path: Path, folder: Path | None) -> str:
    """A path as an expression: from the test file's own folder where it lies near."""
    if folder is not None:
        from_there = Path(os.path.relpath(path, folder.resolve()))
        if from_there.parts.count(os.pardir) <= N_UP:
            return f"Path(__file__).resolve().parent / {json.dumps(from_there.as_posix())}"
    return f"Path({json.dumps(str(path))})"


def _importing(text: str, *names: str) -> str:
    """With modules that are imported too, in order."""
    head = re.search(r"(?:^import [\w.]+\n)+", text, re.MULTILINE)
    assert head is not None  # noqa: S101  (it has some)
    lines = {*head.group().splitlines(), *(f"import {name}" for name in names)}
    return text.replace(head.group(), "".join(f"{line}\n" for line in sorted(lines)), 1)


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
