"""What a check says of right models of the peer library, and of wrong models of our own.

    python -m tests.benchmarks.models_checked [--seeds 5] [--out FILE.md]

The exit status is 1 where a right model has a finding, or a wrong one is not named as it must be.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import torch
import transformers

from core.contract.model.check import Report, check_model_of
from core.contract.model.sessions import Wish
from core.contract.model.subject import ModelSubject, Source
from tests.helpers.models.expected import FAULTS, ONLY_CHUNKS, OPAQUE_FAULTS, OPAQUE_RIGHT

MODELS = Path(__file__).parents[1] / "helpers" / "models"
PEERS, ATTENTIONS = ("gpt2", "llama", "mistral", "qwen2"), ("eager", "sdpa")
DTYPES = ("float32", "bfloat16", "float16")


def main() -> int:
    """Check all, write the tables, and say whether anything is not as it must be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5, help="random weights of each peer, up to 5")
    parser.add_argument("--out", type=Path, help="write the tables here")
    arguments = parser.parse_args()
    n_wrong = 0
    lines: list[str] = []
    with ModelSubject(Source(MODELS / "nano.py", "right")) as subject:
        for part in (
            _right(subject, arguments.seeds),
            _wrong(subject),
            _opaque(subject),
        ):
            for line, is_as_it_must_be in part:
                n_wrong += not is_as_it_must_be
                lines.append(line)
                print(line, flush=True)
    text = _head() + "\n".join(lines) + "\n"
    if arguments.out is not None:
        arguments.out.write_text(text, encoding="utf-8")
    return 1 if n_wrong else 0


def _head() -> str:
    return (
        "# Models that were checked\n\n"
        f"`python -m tests.benchmarks.models_checked`, torch {torch.__version__.split('+')[0]}, "
        f"transformers {transformers.__version__}. Each model reads 13 tokens in eight ways "
        "(`kvscope check --kind model`). A model of a 16-bit type is read in its own type and, "
        "with nothing wrong there, in float32, which the last column is of then.\n\n"
    )


def _reported(subject: ModelSubject, file: str, name: str) -> Report:
    subject.turn_to(Source(MODELS / file, name))
    return check_model_of(subject, Wish())


def _right(subject: ModelSubject, n_seeds: int) -> Iterator[tuple[str, bool]]:
    """Of right models: what was found, and how near an error comes to the threshold."""
    yield (
        "Right models of transformers, tiny, with random weights; Mistral has a window of 6.\n",
        True,
    )
    yield (
        "| model | attention | number type | models | findings | largest error / threshold |",
        True,
    )
    yield "| --- | --- | --- | --- | --- | --- |", True
    for name in PEERS:
        for attention in ATTENTIONS:
            for dtype in DTYPES:
                reports = [
                    _reported(subject, "peers.py", f"{name}_{attention}_{seed}_{dtype}")
                    for seed in range(n_seeds)
                ]
                n = sum(len(report.findings) for report in reports)
                nearest = max(_nearest(report) for report in reports)
                row = (name, attention, dtype, n_seeds, n, f"{nearest:.2f}")
                yield f"| {' | '.join(map(str, row))} |", n == 0
    yield "", True


def _nearest(report: Report) -> float:
    errors = [call.error for one in report.outcomes for call in one.calls if call.error is not None]
    return max(errors) / report.bands.wrong


def _wrong(subject: ModelSubject) -> Iterator[tuple[str, bool]]:
    """Of wrong models: what was named, where, and with how large an error."""
    yield "Wrong models (`tests/helpers/models`): float32, three layers, or two in `nano`.\n", True
    yield "| model | named | first wrong call | largest error / threshold |", True
    yield "| --- | --- | --- | --- |", True
    nano = {"pos_restart": ["pos-restart"], "mask_top_left": ["mask-top-left"]}
    nano["both"] = ["pos-restart", "mask-top-left"]
    for name, wanted in nano.items():
        yield _row(f"nano: {name}", _reported(subject, "nano.py", name), wanted)
    for name, (wanted, at) in FAULTS.items():
        report = _reported(subject, "faults.py", f"make_{name}")
        line, is_named = _row(name, report, [wanted])
        yield line, is_named and report.findings[0].call == at
    for name, wanted in ONLY_CHUNKS.items():
        yield _row(name, _reported(subject, "faults.py", f"make_{name}"), [wanted])


def _opaque(subject: ModelSubject) -> Iterator[tuple[str, bool]]:
    """Of models of which nothing is seen inside."""
    yield "", True
    yield (
        "Black boxes (`tests/helpers/models/opaque.py`): computed in NumPy, so that nothing is "
        "seen inside; of the sealed ones not even the rows that they give back.\n",
        True,
    )
    yield "| model | named | first wrong call | largest error / threshold |", True
    yield "| --- | --- | --- | --- |", True
    for name in OPAQUE_RIGHT:
        yield _row(name, _reported(subject, "opaque.py", name), [])
    for name, wanted in OPAQUE_FAULTS.items():
        yield _row(name, _reported(subject, "opaque.py", name), wanted)


def _row(name: str, report: Report, wanted: list[str]) -> tuple[str, bool]:
    found = [one.preset_like or one.mechanism for one in report.findings]
    calls = ", ".join(str(one.call) for one in report.findings)
    where = next((one.session.words for one in report.outcomes if one.standing == "wrong"), None)
    nearest = _nearest(report)
    first = "-" if where is None else f"{calls} ({where})"
    size = f"{nearest:.2f}" if where is None else f"{nearest:.0f}"
    row = (name, "; ".join(found) or "nothing", first, size)
    return f"| {' | '.join(row)} |", found == wanted


if __name__ == "__main__":
    raise SystemExit(main())
