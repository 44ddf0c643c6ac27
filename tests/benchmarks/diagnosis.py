"""How often the diagnosis names the right mechanism: every fault, scheme by scheme.

    python -m tests.benchmarks.diagnosis [--prompts 20] [--correct 2000] [--jobs J] [--out FILE.md]

Prompts, capacities and kinds of run are random, and made for this measurement alone. Runs without
a fault come from the generators of the property tests.
"""

import argparse
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from core.faults.classes import CLASSES
from core.spec import RunSpec
from tests.core.properties.strategies import beam_specs, mixed_specs, plain_specs
from tests.helpers.diagnosis_cases import (
    CASES,
    KINDS,
    Case,
    case_of,
    diagnosis_of,
    loaded_model,
    random_spec,
)
from tests.helpers.runs import judged

_HEADINGS = ("fault", "schemes", "runs", "first", "class", "second", "missed", "silent", "same")
_OUTCOMES = ("first", "class", "second", "missed", "silent", "unchanged")


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompts", type=int, default=20)
    parser.add_argument("--correct", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=1, help="processes for the faults")
    parser.add_argument("--fault", action="append", help="these faults only")
    parser.add_argument("--verbose", action="store_true", help="tell what was missed")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    start = time.perf_counter()
    measured = _measure(arguments)
    if arguments.verbose:
        print(*(line for each in measured for line in each.odd), sep="\n", flush=True)
    n_false = _false_alarms(arguments.correct)
    seconds = time.perf_counter() - start
    text = "\n".join(_table(measured, n_false, arguments, seconds))
    if arguments.out is not None:
        arguments.out.write_text(text + "\n", encoding="utf-8")
    print(text)


@dataclass(frozen=True, slots=True)
class _Measured:
    """Of one fault in one scheme.

    Attributes:
        fault_id: the fault.
        outcomes: how often each.
        n_more: runs in which more than one mechanism was named.
        odd: what was not recognised alone, in words.
    """

    fault_id: str
    outcomes: Counter[str]
    n_more: int
    odd: tuple[str, ...]


def _measure(arguments: argparse.Namespace) -> list[_Measured]:
    """Every fault in every scheme."""
    cases = [case for case in CASES if not arguments.fault or case[0] in arguments.fault]
    jobs = [(*case, arguments.prompts) for case in cases]
    if arguments.jobs == 1:
        return [_measured(job) for job in jobs]
    with ProcessPoolExecutor(arguments.jobs, get_context("spawn")) as pool:
        return list(pool.map(_measured, jobs))


def _measured(job: tuple[str, str, int]) -> _Measured:
    fault_id, scheme, n_prompts = job
    outcomes: Counter[str] = Counter()
    n_more, odd = 0, list[str]()
    for seed in range(n_prompts):
        case = case_of(fault_id, scheme, seed)
        outcomes[case.outcome] += 1
        n_more += len(case.found) > 1
        if case.outcome in ("missed", "second", "silent") or len(case.found) > 1:
            odd.append("\n    ".join(_told(fault_id, scheme, seed, case)))
    return _Measured(fault_id, outcomes, n_more, tuple(odd))


def _told(fault_id: str, scheme: str, seed: int, case: Case) -> Iterator[str]:
    yield f"{fault_id} {scheme} {seed}: {case.outcome}; {case.spec}"
    for found in case.found:
        rivals = [rival.preset_like for rival in found.rivals]
        yield f"{found.preset_like} {found.where} {found.evidence[0]} {rivals}"


def _false_alarms(n: int) -> int:
    """Of `n` random runs without a fault, those of which something was said."""
    said: list[RunSpec] = []
    done: list[RunSpec] = []
    kinds = ("float64", "float32", "bfloat16")
    specs = st.one_of(plain_specs(*kinds), mixed_specs(*kinds), beam_specs(*kinds))

    @settings(
        max_examples=max(1, n // 2),
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(specs)
    def look(spec: RunSpec) -> None:
        _look(spec, done, said)

    if n:
        look()
    rng = random.Random("correct")
    while len(done) < n:
        fault_id, scheme = rng.choice(CASES)
        _look(random_spec(fault_id, scheme, rng.randrange(1 << 30)), done, said)
    for spec in said:
        print("said of a correct run:", spec)
    return len(said)


def _look(spec: RunSpec, done: list[RunSpec], said: list[RunSpec]) -> None:
    done.append(spec)
    if diagnosis_of(judged(spec, loaded_model(spec.model))):
        said.append(spec)


def _table(
    measured: Sequence[_Measured],
    n_false: int,
    arguments: argparse.Namespace,
    seconds: float,
) -> Iterator[str]:
    total: Counter[str] = Counter()
    yield "# Diagnosis: how often the right mechanism is named"
    yield ""
    yield (
        f"`python -m tests.benchmarks.diagnosis --prompts {arguments.prompts} --correct "
        f"{arguments.correct} --jobs {arguments.jobs}`, {seconds / 60:.0f} minutes. "
        f"{arguments.prompts} random runs for each fault and scheme in which it shows: prompts, "
        "lengths, capacities, chunks, drafts, padding and number types are drawn anew, and no test "
        "of the rules uses them."
    )
    yield ""
    yield (
        "first: named first. class: one of its class was, and its records are the very same. "
        "second: it was the first rival. missed: neither. silent: records differ from those "
        "without the fault, but no verdict is wrong, and nothing is said. same: the fault changed "
        "no field of any record."
    )
    yield ""
    yield f"| {' | '.join(_HEADINGS)} |"
    yield f"|{' --- |' * len(_HEADINGS)}"
    for fault_id in KINDS:
        schemes = [each.outcomes for each in measured if each.fault_id == fault_id]
        if schemes:
            count = sum(schemes, Counter[str]())
            total += count
            numbers = [count[outcome] for outcome in _OUTCOMES]
            cells = [fault_id, str(len(schemes)), str(sum(numbers)), *map(str, numbers)]
            yield f"| {' | '.join(cells)} |"
    numbers = [total[outcome] for outcome in _OUTCOMES]
    yield f"| {' | '.join(['all', '', str(sum(numbers)), *map(str, numbers)])} |"
    yield ""
    n_more = sum(each.n_more for each in measured)
    yield from _sums(total, n_more, n_false, arguments.correct)


def _sums(total: Counter[str], n_more: int, n_false: int, n_correct: int) -> Iterator[str]:
    n_shown = sum(total[outcome] for outcome in _OUTCOMES[:4])
    n_first = total["first"] + total["class"]
    n_two = n_first + total["second"]
    yield (
        f"Of {n_shown} runs with a wrong verdict the right class is named first in {n_first} "
        f"({n_first / max(1, n_shown):.1%}), and is among the first two in {n_two} "
        f"({n_two / max(1, n_shown):.1%}). A second mechanism was named beside it in {n_more}. Of "
        f"{n_correct} random runs without a fault something was said of {n_false}."
    )
    yield ""
    yield (
        "The wrong rules of the diagnosis were written with the faults of the catalog in view, so "
        "this says how well known mechanisms are told apart in runs that nobody looked at before, "
        "one at a time and on from the first step; not what is said of a mechanism that is not "
        "among them: of that the decision that went wrong is told, and no mechanism, unless all "
        "of the answers in the run are those of a known one."
    )
    yield ""
    yield "Classes, whose records are identical where it is said:"
    yield ""
    for each in CLASSES:
        yield f"- {', '.join(each.ids)}: {each.where}"


if __name__ == "__main__":
    main()
