"""What calls each preset wrong in 16-bit number types: its logits, or what is compared exactly.

    python -m tests.benchmarks.presets_16bit [--fault ID]... [--out FILE.md]

Each preset's scenario is run with the tiny model of each scheme in which it shows, and with its own
model and prompt.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import torch

from core.faults.catalog import FAULTS
from core.faults.fault import Fault
from core.model.loading import LoadedModel, load_model
from core.spec import FaultUse, RunSpec
from core.verdict import StepVerdict
from tests.helpers.runs import SCHEMES, judged
from tests.helpers.scenarios import scenario_spec

DTYPES = ("bfloat16", "float16")
_OWN = "its own model"
_STANDINGS = {"wrong": "wrong", "rounding": "rounding", "right": "right", None: "none"}
_INTRODUCTION = (
    "`python -m tests.benchmarks.presets_16bit`. Each cell: the first wrong step and what is wrong "
    "there. p: policy, m: mechanism, l: logits. Policy compares whole numbers (outcome, length, "
    "seen, position ids, readable tokens, contents), mechanism also which rows were read and seen "
    "and what stands in them. Where l is missing, the logits of that step are inside the threshold "
    "of the number type: ~ says *rounding*, = says *right*, . that there are none; the verdict "
    "then rests on p or m. A step in **bold** is another one than in float64."
)


@dataclass(frozen=True, slots=True)
class Shown:
    """How a preset shows in a number type.

    Attributes:
        step: first wrong step; None: nothing is called wrong.
        promised: that of float64.
        by: the verdicts that are wrong there.
        logits: the standing of that step's logits; "none" where nothing was computed.
    """

    step: int | None
    promised: int
    by: tuple[str, ...]
    logits: str

    @property
    def is_inside(self) -> bool:
        """Whether the logits do not say what the others do."""
        return self.step is not None and self.logits in ("right", "rounding")


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fault", action="append", help="these only")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    faults = [fault for fault in FAULTS if not arguments.fault or fault.id in arguments.fault]
    text = "\n".join(_table(faults))
    if arguments.out is not None:
        arguments.out.write_text(f"{text}\n", encoding="utf-8")
    print(text)


def shown(fault: Fault, scheme: str, dtype: str) -> Shown:
    """How a preset shows with the tiny model of a scheme, or with its own model."""
    spec, loaded = _run_of(fault, scheme, dtype)
    run = judged(spec, loaded)
    if not run.wrong_steps:
        return Shown(None, fault.promise.step, (), "none")
    first = run.verdicts[run.wrong_steps[0]]
    standing = first.logits.standing if first.logits else None
    return Shown(first.step, fault.promise.step, tuple(_by(first)), _STANDINGS[standing])


def _by(verdict: StepVerdict) -> Iterator[str]:
    if verdict.policy == "wrong":
        yield "p"
    if verdict.mechanism == "wrong":
        yield "m"
    if verdict.logits is not None and verdict.logits.standing == "wrong":
        yield "l"


def _run_of(fault: Fault, scheme: str, dtype: str) -> tuple[RunSpec, LoadedModel]:
    use = FaultUse(fault.id)
    if scheme != _OWN:
        return scenario_spec(fault.shows_in, scheme, use, dtype=dtype), _loaded(f"tiny-{scheme}")
    loaded = _loaded(fault.shows_in.model)
    spec = fault.shows_in.spec(loaded.tokenizer.encode)
    return replace(spec, dtype=dtype, faults=(use,)), loaded


@cache
def _loaded(name: str) -> LoadedModel:
    return load_model(name)


def _table(faults: Sequence[Fault]) -> Iterator[str]:
    yield f"# Presets in 16-bit number types\n\n{_INTRODUCTION}\n"
    columns = [(scheme, dtype) for scheme in (*SCHEMES, _OWN) for dtype in DTYPES]
    yield f"| preset | {' | '.join(f'{scheme}, {dtype}' for scheme, dtype in columns)} |"
    yield f"|{' --- |' * (len(columns) + 1)}"
    all_found: list[Shown] = []
    later: list[str] = []
    for fault in faults:
        cells: list[str] = []
        for scheme, dtype in columns:
            if scheme != _OWN and scheme not in fault.schemes:
                cells.append("–")
                continue
            found = shown(fault, scheme, dtype)
            all_found.append(found)
            cells.append(_words(found))
            if found.step != found.promised:
                later.append(f"{fault.id} ({scheme}, {dtype})")
        yield f"| {fault.id} | {' | '.join(cells)} |"
    yield ""
    n_first = sum(found.step == found.promised for found in all_found)
    n_inside = sum(found.is_inside for found in all_found)
    n_none = sum(found.logits == "none" for found in all_found)
    yield (
        f"{n_first} of {len(all_found)} runs are called wrong at the step at which float64 calls "
        f"them wrong; in {n_inside} of all runs the logits of the first wrong step are inside the "
        f"threshold (some of them are right in float64 too), in {n_none} there are none."
    )
    if later:
        yield f"\nAt another step, or not at all: {', '.join(later)}."


def _words(found: Shown) -> str:
    if found.step is None:
        return "**never**"
    mark = {"rounding": "~", "right": "=", "none": ".", "wrong": ""}[found.logits]
    step = str(found.step) if found.step == found.promised else f"**{found.step}**"
    return f"{step} {''.join(found.by)}{mark}"


if __name__ == "__main__":
    main()
