"""How often anything is called wrong in a run without a fault: random runs of each number type.

    python -m tests.benchmarks.false_alarms [--specs 1000] [--seed 0] [--dtype float32]...
                                            [--amplify] [--resume FILE] [--out FILE.md]
    python -m tests.benchmarks.false_alarms --dtype float32 --only 417

What is drawn stands in `tests.helpers.correct_runs`. A run of which anything is said to be wrong is
printed as the command that repeats it, and the exit status is then 1. With --resume, finished runs
are kept in a file, and the same command goes on from there.
"""

import argparse
import gc
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import get_args

import torch

from app.cli_progress import Counter as Progress
from core.spec import DTYPE_NAMES, DTypeName
from tests.helpers.correct_runs import Case, Found, found_in, random_case

Row = dict[str, object]
_STANDINGS = ("right", "rounding", "wrong")
_ALARMS = ("wrong_policy", "wrong_mechanism", "off_rows", "off_layers")
_COUNTED = (
    "number type", "runs", *_STANDINGS, "policy", "mechanism", "rows", "layers", "named",
)  # fmt: skip
_MARGINS = ("number type", "largest error / band", "/ threshold", "/ noise", "runs with rounding")
_INTRODUCTION = (
    "`python -m tests.benchmarks.false_alarms {}`. Model ({}), scheme, policy, capacity, chunk, "
    "sampling, 8-bit rows, growing buffers and the script (rollbacks, new prompts, drafts, probes, "
    "padding, prefixes that are used again, beams) are drawn anew for each run."
)
_USUAL = "tiny ones with random weights, 1 to 12 layers; the shipped one"
_AMPLIFYING = (
    "random weights, 1 to 24 layers, 1 to 8 heads of 2 to 32 numbers, all matrices of the layers "
    "multiplied by 0.3, 1, 2 or 4, in two of five one number of each embedding by 100"
)
_ABOUT_COUNTS = (
    "Right, rounding, wrong: steps, by what is said of their logits. Policy, mechanism: steps in "
    "which that verdict is wrong. Rows, layers: steps in which a stored row or a layer's residual "
    "is drawn as wrong. Named: runs of which the diagnosis says anything."
)
_ABOUT_MARGINS = (
    "How near it comes. Band: up to there an error of a logit is *right*. Threshold: above it, it "
    "is *wrong*. Noise: the error of a forward without a cache in the same number type, the "
    "largest up to that step; measured in the runs without a script."
)


def main() -> int:
    """Measure, and write the table; 1 where anything was called wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--specs", type=int, default=1000, help="runs of each number type")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dtype", action="append", choices=DTYPE_NAMES, help="default: all")
    parser.add_argument("--amplify", action="store_true", help="models that make rounding grow")
    parser.add_argument("--only", type=int, help="this run alone, with all that is said of it")
    parser.add_argument("--resume", type=Path)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    dtypes: Sequence[DTypeName] = arguments.dtype or get_args(DTypeName)
    runs = Runs(arguments.seed, amplifies=arguments.amplify)
    if arguments.only is not None:
        return max(_tell(dtype, runs, arguments.only) for dtype in dtypes)
    rows = list(_measured(dtypes, arguments.specs, runs, arguments.resume))
    text = "\n".join(_table(rows, dtypes, arguments.specs, runs))
    if arguments.out is not None:
        arguments.out.write_text(f"{text}\n", encoding="utf-8")
    print(text)
    return int(any(row["is_alarm"] for row in rows))


@dataclass(frozen=True, slots=True)
class Runs:
    """Which runs are drawn: see `tests.helpers.correct_runs.random_case`."""

    seed: int
    amplifies: bool

    def case(self, dtype: DTypeName, number: int) -> Case:
        """A run."""
        return random_case(dtype, self.seed, number, amplifies=self.amplifies)

    @property
    def options(self) -> str:
        """What names them on a command line."""
        return f"--seed {self.seed}{' --amplify' if self.amplifies else ''}"


def _tell(dtype: DTypeName, runs: Runs, number: int) -> int:
    case = runs.case(dtype, number)
    found = found_in(case)
    print(f"{case.kind}, {case.model}, {case.policy}\n{case.spec}\n{found}")
    return int(found.is_alarm)


def _measured(dtypes: Sequence[DTypeName], n: int, runs: Runs, path: Path | None) -> Iterator[Row]:
    """A row for each run, those that the file has already first."""
    known = _known(path, runs)
    wanted = [(dtype, number) for dtype in dtypes for number in range(n)]
    rest = [key for key in wanted if key not in known]
    progress = Progress("run", len(wanted), len(wanted) - len(rest))
    yield from (known[key] for key in wanted if key in known)
    for dtype, number in rest:
        row = _row(dtype, runs, number)
        if path is not None:
            with path.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps(row)}\n")
        progress.next()
        yield row
    progress.done()


def _known(path: Path | None, runs: Runs) -> dict[tuple[str, int], Row]:
    """The rows of a file, its unfinished last line left out."""
    if path is None or not path.exists():
        return {}
    text = path.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    path.write_text(whole, encoding="utf-8")
    rows = [json.loads(line) for line in whole.splitlines()]
    return {(row["dtype"], row["number"]): row for row in rows if row["runs"] == runs.options}


def _row(dtype: DTypeName, runs: Runs, number: int) -> Row:
    case = runs.case(dtype, number)
    found: Found = found_in(case)
    if found.is_alarm:
        print(f"{_command(dtype, runs, number)}: {found}", flush=True)
    if number % 50 == 0:
        gc.collect()  # engines refer to themselves, and their arrays would stay for long
    return {
        "dtype": dtype,
        "runs": runs.options,
        "number": number,
        "kind": case.kind,
        "model": case.model,
        "scheme": case.loaded.config.scheme,
        "policy": case.policy,
        "number_kind": case.spec.number_kind,
        "is_alarm": found.is_alarm,
        **asdict(found),
    }


def _command(dtype: str, runs: Runs, number: int) -> str:
    return f"python -m tests.benchmarks.false_alarms {runs.options} --dtype {dtype} --only {number}"


def _table(rows: Sequence[Row], dtypes: Sequence[str], n: int, runs: Runs) -> Iterator[str]:
    head = "Models that make rounding grow" if runs.amplifies else "Runs without a fault"
    models = _AMPLIFYING if runs.amplifies else _USUAL
    told = _INTRODUCTION.format(f"--specs {n} {runs.options}", models)
    yield f"# {head}: what is called wrong\n\n{told}\n"
    kinds = list(_by_number_kind(rows, dtypes))
    yield f"{_ABOUT_COUNTS}\n"
    yield from _markdown(_COUNTED, [_counts(name, found) for name, found in kinds])
    yield f"\n{_ABOUT_MARGINS}\n"
    yield from _markdown(_MARGINS, [_margins(name, found) for name, found in kinds])
    yield "\nWhat was drawn:\n"
    for name in ("kind", "policy", "scheme"):
        counted = Counter(str(row[name]) for row in rows).most_common()
        yield f"- {name}: " + ", ".join(f"{value} {n}" for value, n in counted)
    alarms = [row for row in rows if row["is_alarm"]]
    yield f"\nOf {len(rows)} runs something was called wrong in {len(alarms)}."
    for row in alarms:
        yield f"- `{_command(str(row['dtype']), runs, int(str(row['number'])))}`"


def _by_number_kind(rows: Sequence[Row], dtypes: Sequence[str]) -> Iterator[tuple[str, list[Row]]]:
    """The rows of each number type, those with 8-bit rows apart."""
    for dtype in dtypes:
        for kind, words in ((dtype, dtype), (f"{dtype}+int8", f"{dtype}, 8-bit rows")):
            found = [row for row in rows if row["number_kind"] == kind]
            if found:
                yield words, found


def _counts(name: str, rows: Sequence[Row]) -> tuple[str, ...]:
    steps: Counter[str] = Counter()
    for row in rows:
        steps.update(row["standings"])
    numbers = [steps[standing] for standing in _STANDINGS]
    numbers += [sum(int(str(row[alarm])) for row in rows) for alarm in _ALARMS]
    numbers.append(sum(bool(row["named"]) for row in rows))
    return (name, str(len(rows)), *map(str, numbers))


def _margins(name: str, rows: Sequence[Row]) -> tuple[str, ...]:
    words: list[str] = []
    for of in ("of_band", "of_threshold", "of_noise"):
        found = [float(str(row[of])) for row in rows if row[of] is not None]
        words.append(f"{max(found):.2f}" if found else "–")
    n_rounding = sum("rounding" in str(row["standings"]) for row in rows)
    return (name, *words, str(n_rounding))


def _markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    yield from (f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    raise SystemExit(main())
