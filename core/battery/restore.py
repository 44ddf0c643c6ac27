"""A run goes on from what was saved as if it had never stopped."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

import torch

from core.battery.bench import Bench, Broken, Found, copied
from core.battery.case import Case
from core.battery.law import Law
from core.tracefile import open_trace, save_trace


def _checkpoint_cases(case: Case) -> Iterator[Case]:
    for n in sorted({1, 1 + len(case.then) // 2}):
        yield replace(case, n=n)


def _from_checkpoint(case: Case, bench: Bench) -> Found:
    """A copy made after `n` steps goes on after the original has."""
    session = bench.session(case)
    with torch.inference_mode():
        while len(session.trace.records) < case.n and session.advance() is not None:
            pass
        copy = copied(session)
    before = session.run().digests()
    return _equal("a copy that goes on", copy.run().digests(), before)


def _file_cases(case: Case) -> Iterator[Case]:
    yield case
    if len(case.prompt) > 2:
        yield replace(case, chunk=2)


def _from_file(case: Case, bench: Bench) -> Found:
    """What is kept in a small .kvtrace makes the same run."""
    trace = bench.trace(case)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "run.kvtrace")
        save_trace(path, trace, full=False)
        opened = open_trace(path)
    spec = opened.spec
    again = bench.run(
        case, prompt_ids=spec.prompt_ids, steps=spec.steps, force_ids=spec.force_ids,
        chunk=spec.chunk, policy=spec.policy, capacity=spec.capacity, sinks=spec.sinks,
        reassign_positions=spec.reassign_positions, faults=spec.faults, dtype=spec.dtype,
    )  # fmt: skip
    return _equal("the run of the file", [r.digest() for r in again], opened.recorded.digests)


def _equal(what: str, now: Sequence[str], before: Sequence[str]) -> list[Broken]:
    for step, (a, b) in enumerate(zip_longest(now, before)):
        if a != b:
            return [Broken(f"{what} has another record at step {step}")]
    return []


LAWS = (
    Law(
        "restore-copy",
        "restore",
        "a copy of a run goes on to the same records, also after the run itself went on",
        _checkpoint_cases,
        _from_checkpoint,
    ),
    Law(
        "restore-file",
        "restore",
        "a run made again from a small trace file has the same records",
        _file_cases,
        _from_file,
    ),
)
