"""A run told to a person: what was read, one line per step, the verdicts, what to do next."""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from core.diagnose.finding import Diagnosis
from core.faults.known import KnownFaults
from core.faults.why_silent import silence_words
from core.model.tokenizer import Tokenizer
from core.outcome import Ok
from core.readouts.lines import (
    diagnosis_of,
    first_wrong_logits,
    first_wrong_step,
    text_read,
)
from core.readouts.verdict_words import difference_words, rests_on
from core.readouts.words import are_no_numbers, outcome_words, plural, ranges
from core.record import StepRecord
from core.spec import FaultUse, RunSpec
from core.trace import Trace
from core.verdict import StepVerdict

_ALL_SHOWN = 40
_SHOWN_AT_ENDS, _SHOWN_AROUND = 4, 2
_HEADINGS = (
    "step",
    "phase",
    "reads",
    "positions",
    "held",
    "next",
    "policy",
    "mechanism",
    "logits",
    "error",
)
_ENDS = {
    "steps": "all requests were carried out",
    "refused": "the cache refused",
    "end_of_text": "the model ended the text",
    "position_limit": "a position past the model's last one",
    "cancelled": "it was interrupted",
}
_NO_NUMBERS_END = (
    "the logits of the last step are no numbers, and what comes out as the best token ends a text"
)


def account(
    trace: Trace,
    verdicts: Sequence[StepVerdict],
    tokenizer: Tokenizer,
    saved_at: Path | None,
    known: KnownFaults,
    found: Iterable[str],
) -> Iterator[str]:
    """The lines of the account of a run that is over and judged.

    Args:
        trace: the run.
        verdicts: of all its steps.
        tokenizer: of its model.
        saved_at: the file that it was written to; None: it was not.
        known: the faults that there are, those of the run among them.
        found: lines on what was looked at beside the verdicts.
    """
    yield from _setup(trace, known)
    yield ""
    yield from _text(trace, tokenizer)
    yield ""
    yield from _table(trace.records, verdicts, tokenizer, trace.spec.n_sequences)
    yield ""
    yield _end(trace)
    yield from _judgement(trace, verdicts)
    yield from found
    yield from _advice(trace.spec, verdicts, saved_at)


def _setup(trace: Trace, known: KnownFaults) -> Iterator[str]:
    config, spec = trace.model.config, trace.spec
    heads = plural(config.n_heads, "head")
    if config.n_kv_heads != config.n_heads:
        heads += f" on {config.n_kv_heads} KV heads"
    yield (
        f"model      {trace.model.name}: {config.scheme} positions, "
        f"{plural(config.n_layers, 'layer')}, {heads}; {spec.dtype} on {spec.device}"
    )
    yield f"cache      {_cache(spec)}"
    yield from _sampling(spec)
    for use in spec.faults:
        titles = " + ".join(fault.title for fault in known.of(use))
        file = "" if use.file is None else f" ({use.file.name})"
        yield f"fault      {use.id}{file}: {titles}{_where(use)}"


def _cache(spec: RunSpec) -> str:
    parts = [f"policy {spec.policy}, capacity {spec.capacity}"]
    if spec.policy == "sinks":
        parts.append(f"{plural(spec.sinks, 'sink')}")
    if spec.reassign_positions:
        parts.append("positions re-assigned")
    if spec.chunk is not None:
        parts.append(f"prompt in chunks of {spec.chunk}")
    if spec.poison:
        parts.append("dead rows poisoned")
    return ", ".join(parts)


def _sampling(spec: RunSpec) -> Iterator[str]:
    """How tokens are chosen; nothing where that is as usual."""
    limits = {"top_k": spec.top_k, "top_p": spec.top_p, "seed": spec.seed or None}
    given = [f"{name} {value}" for name, value in limits.items() if value is not None]
    if spec.temperature > 0:
        yield f"sampling   {', '.join([f'temperature {spec.temperature:g}', *given])}"
    elif given:
        unused = f"{' and '.join(given)} {'changes' if len(given) == 1 else 'change'} nothing"
        yield f"sampling   greedy: without --temperature above 0, {unused}"


def _where(use: FaultUse) -> str:
    last = "" if use.last_step is None else f" to {use.last_step}"
    steps = "" if (use.first_step, last) == (0, "") else f", from step {use.first_step}{last}"
    layers = "" if use.layers is None else f", in layers {ranges(sorted(use.layers))}"
    return steps + layers


def _text(trace: Trace, tokenizer: Tokenizer) -> Iterator[str]:
    read = text_read(trace.records)
    n_prompt = min(len(trace.spec.prompt_ids), len(read))
    is_one_of_many = trace.spec.n_sequences > 1 and trace.records
    whose = f"; beam {trace.records[-1].request}" if is_one_of_many else ""
    for name, ids in (("prompt", read[:n_prompt]), ("then read", read[n_prompt:])):
        text = json.dumps(tokenizer.decode(ids), ensure_ascii=False)
        yield f"{name:<11}{text} ({plural(len(ids), 'token')}{whose})"


def _table(
    records: Sequence[StepRecord],
    verdicts: Sequence[StepVerdict],
    tokenizer: Tokenizer,
    n_beams: int,
) -> Iterator[str]:
    steps = _shown_steps(verdicts)
    rows = [_cells(records[step], verdicts[step], tokenizer, n_beams) for step in steps]
    widths = [max(map(len, column)) for column in zip(_HEADINGS, *rows, strict=True)]
    yield _row(_HEADINGS, widths)
    for before, step, row in zip([-1, *steps], steps, rows, strict=False):
        if step > before + 1:
            yield f"   … {plural(step - before - 1, 'step')} left out"
        yield _row(row, widths)


def _shown_steps(verdicts: Sequence[StepVerdict]) -> list[int]:
    """All steps of a short run; of a long one both ends, and where it first goes wrong."""
    n = len(verdicts)
    if n <= _ALL_SHOWN:
        return list(range(n))
    shown = {*range(_SHOWN_AT_ENDS), *range(n - _SHOWN_AT_ENDS, n)}
    for first in (first_wrong_step(verdicts), first_wrong_logits(verdicts)):
        if first is not None:
            shown.update(range(first - _SHOWN_AROUND, first + _SHOWN_AROUND + 1))
    return sorted(step for step in shown if 0 <= step < n)


def _asked(record: StepRecord, n_beams: int) -> str:
    """What a step was asked, and of which of several beams; a reorder is of all."""
    words = record.phase.replace("_", " ")
    return words if n_beams == 1 or record.parents else f"{words}, beam {record.request}"


def _cells(
    record: StepRecord, verdict: StepVerdict, tokenizer: Tokenizer, n_beams: int
) -> tuple[str, ...]:
    logits = verdict.logits
    return (
        str(record.step),
        _asked(record, n_beams),
        _reads(record, tokenizer),
        ranges(p for p in record.position_ids if p is not None) or "–",
        f"{record.reported_length} of {record.ledger.capacity}",
        "–" if record.next_token is None else _quoted(record.next_token, tokenizer),
        verdict.policy,
        verdict.mechanism,
        "–" if logits is None else logits.standing,
        "–" if logits is None else f"{logits.max_abs_error:.1e}",
    )


def _reads(record: StepRecord, tokenizer: Tokenizer) -> str:
    if not isinstance(record.outcome, Ok):
        return "refused"
    if len(record.token_ids) == 1:
        return _quoted(record.token_ids[0], tokenizer)
    return plural(len(record.token_ids), "token") if record.token_ids else "–"


def _quoted(token_id: int, tokenizer: Tokenizer) -> str:
    return f"'{tokenizer.token_text(token_id)}'"


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
    return "  ".join(padded).rstrip()


def _end(trace: Trace) -> str:
    words = _ENDS[trace.end or "cancelled"]
    last = trace.records[-1] if trace.records else None
    if last is not None and trace.end == "end_of_text" and are_no_numbers(last):
        words = _NO_NUMBERS_END
    if last is not None and not isinstance(last.outcome, Ok):
        words += f" ({outcome_words(last.outcome, last)})"
    return f"Ended after {plural(len(trace.records), 'step')}: {words}."


def _judgement(trace: Trace, verdicts: Sequence[StepVerdict]) -> Iterator[str]:
    records, first = trace.records, first_wrong_step(verdicts)
    judged = [verdict.logits for verdict in verdicts if verdict.logits is not None]
    if first is None:
        yield "Nothing is wrong: policy, mechanism and logits are right in every step."
        n_rounding = sum(logits.standing == "rounding" for logits in judged)
        if n_rounding:
            yield f"In {plural(n_rounding, 'step')} the logits differ by rounding alone."
        if trace.spec.faults and records:
            yield f"{silence_words(trace.spec, trace.model.config.scheme, records)}."
    else:
        record, verdict = records[first], verdicts[first]
        yield f"First wrong step: {first} ({record.phase}). Wrong there: {_wrong_ones(verdict)}."
        if verdict.first_difference is not None:
            yield f"What differs first: {difference_words(record, verdict)}."
        if basis := rests_on(verdict):
            yield f"{basis[0].upper()}{basis[1:]}."
        yield _first_wrong_logits(verdicts)
        for found in diagnosis_of(records, verdicts):
            yield from _diagnosis(found)
    if judged:
        bands, limits = (
            _span(each.band for each in judged),
            _span(each.wrong_above for each in judged),
        )
        own = " (each step has its own limits)" if " to " in bands + limits else ""
        yield (
            f"Logits count as right up to an error of {bands}, as wrong above {limits}, as "
            f"rounding between{own}."
        )


def _span(numbers: Iterable[float]) -> str:
    """The least and the largest, or the one that all are."""
    found = sorted(numbers)
    least, most = f"{found[0]:.1e}", f"{found[-1]:.1e}"
    return least if least == most else f"{least} to {most}"


def _diagnosis(found: Diagnosis) -> Iterator[str]:
    like = "" if found.preset_like is None else f" (like {found.preset_like})"
    yield f"Diagnosis: {found.mechanism}{like}."
    for sentence in found.evidence:
        yield f"  - {sentence}"
    for rival in found.rivals:
        yield f"  with {rival.preset_like}, {rival.separate_by}"


def _wrong_ones(verdict: StepVerdict) -> str:
    is_wrong = {
        "policy": verdict.policy == "wrong",
        "mechanism": verdict.mechanism == "wrong",
        "logits": verdict.logits is not None and verdict.logits.standing == "wrong",
    }
    return ", ".join(name for name, wrong in is_wrong.items() if wrong)


def _first_wrong_logits(verdicts: Sequence[StepVerdict]) -> str:
    first = first_wrong_logits(verdicts)
    logits = None if first is None else verdicts[first].logits
    if logits is None:
        return "The logits are never wrong: the text alone would not show it."
    if not math.isfinite(logits.max_abs_error):
        are = "no numbers" if math.isnan(logits.max_abs_error) else "not finite"
        return f"Logits first wrong: step {first}: they are {are}."
    return f"Logits first wrong: step {first}, by {logits.max_abs_error:.3g}, {logits.kl:.3g} nats."


def _advice(spec: RunSpec, verdicts: Sequence[StepVerdict], saved_at: Path | None) -> Iterator[str]:
    first = first_wrong_step(verdicts)
    at_step = "" if first is None else f" --step {first}"
    yield "Next: --json gives all of this and more per step."
    if saved_at is None:
        yield "      --trace FILE.kvtrace keeps every number,"
        yield f"      and kvscope FILE.kvtrace{at_step} shows them in the window."
    else:
        yield f"      kvscope {saved_at}{at_step} shows every number in the window."
    if first is None and not spec.faults:
        yield "      kvscope faults lists what can be made to go wrong; try --fault ID."
    elif first is None and spec.faults[-1].file is None:
        yield f"      kvscope run --fault {spec.faults[-1].id} alone is the case that shows it."
