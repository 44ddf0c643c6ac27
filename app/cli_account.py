"""A run told to a person: what was read, one line per step, the verdicts, what to do next."""

import json
from collections.abc import Iterator, Sequence

from core.faults.catalog import find_faults
from core.model.tokenizer import Tokenizer
from core.outcome import Ok
from core.readouts.lines import first_wrong_logits, first_wrong_step, text_read
from core.readouts.verdict_words import difference_words
from core.readouts.words import outcome_words, plural, ranges
from core.record import StepRecord
from core.spec import FaultUse, RunSpec
from core.trace import Trace
from core.verdict import LogitsVerdict, StepVerdict

_ALL_SHOWN = 40
_SHOWN_AT_ENDS, _SHOWN_AROUND = 4, 2
_HEADINGS = ("step", "phase", "reads", "positions", "held", "next", "policy", "mechan.", "logits", "error")
_WIDTHS = (5, 10, 12, 10, 8, 12, 7, 8, 9, 8)
_ENDS = {
    "steps": "all requests were carried out",
    "refused": "the cache refused",
    "end_of_text": "the model ended the text",
    "position_limit": "the model has no further positions",
    "cancelled": "it was interrupted",
}


def account(
    trace: Trace, verdicts: Sequence[StepVerdict], tokenizer: Tokenizer
) -> Iterator[str]:
    """The lines of the account of a run that is over and judged."""
    yield from _setup(trace)
    yield ""
    yield from _text(trace, tokenizer)
    yield ""
    yield from _table(trace.records, verdicts, tokenizer)
    yield ""
    yield f"Ended after {plural(len(trace.records), 'step')}: {_ENDS[trace.end or 'cancelled']}."
    yield from _judgement(trace, verdicts)
    yield from _advice(trace.spec, verdicts)


def _setup(trace: Trace) -> Iterator[str]:
    config, spec = trace.model.config, trace.spec
    heads = plural(config.n_heads, "head")
    if config.n_kv_heads != config.n_heads:
        heads += f" on {config.n_kv_heads} KV heads"
    yield (
        f"model      {trace.model.name}: {config.scheme} positions, "
        f"{plural(config.n_layers, 'layer')}, {heads}; {spec.dtype} on {spec.device}"
    )
    yield f"cache      {_cache(spec)}"
    for use in spec.faults:
        titles = " + ".join(fault.title for fault in find_faults(use.id))
        yield f"fault      {use.id}: {titles}{_where(use)}"


def _cache(spec: RunSpec) -> str:
    parts = [f"policy {spec.policy}, capacity {spec.capacity}"]
    if spec.policy == "sinks":
        parts.append(f"{plural(spec.sinks, 'sink')}")
    if spec.reassign_positions:
        parts.append("positions re-assigned")
    if spec.chunk is not None:
        parts.append(f"prompt in chunks of {spec.chunk}")
    return ", ".join(parts)


def _where(use: FaultUse) -> str:
    last = "" if use.last_step is None else f" to {use.last_step}"
    steps = "" if (use.first_step, last) == (0, "") else f", from step {use.first_step}{last}"
    layers = "" if use.layers is None else f", in layers {ranges(sorted(use.layers))}"
    return steps + layers


def _text(trace: Trace, tokenizer: Tokenizer) -> Iterator[str]:
    read = text_read(trace.records)
    n_prompt = min(len(trace.spec.prompt_ids), len(read))
    for name, ids in (("prompt", read[:n_prompt]), ("then read", read[n_prompt:])):
        text = json.dumps(tokenizer.decode(ids), ensure_ascii=False)
        yield f"{name:<11}{text} ({plural(len(ids), 'token')})"


def _table(
    records: Sequence[StepRecord], verdicts: Sequence[StepVerdict], tokenizer: Tokenizer
) -> Iterator[str]:
    yield _row(_HEADINGS)
    last_shown = -1
    for step in _shown_steps(verdicts):
        if step > last_shown + 1:
            yield f"  …    {plural(step - last_shown - 1, 'step')} left out"
        yield _row(_cells(records[step], verdicts[step], tokenizer))
        last_shown = step


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


def _cells(record: StepRecord, verdict: StepVerdict, tokenizer: Tokenizer) -> tuple[str, ...]:
    logits = verdict.logits
    return (
        str(record.step),
        record.phase.replace("_", " "),
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


def _row(cells: Sequence[str]) -> str:
    padded = (f"{cell:<{width}}" for cell, width in zip(cells, _WIDTHS, strict=True))
    return " ".join(padded).rstrip()


def _judgement(trace: Trace, verdicts: Sequence[StepVerdict]) -> Iterator[str]:
    first = first_wrong_step(verdicts)
    judged = [verdict.logits for verdict in verdicts if verdict.logits is not None]
    if first is None:
        yield "Nothing is wrong: policy, mechanism and logits are right in every step."
        n_rounding = sum(logits.standing == "rounding" for logits in judged)
        if n_rounding:
            yield f"In {plural(n_rounding, 'step')} the logits differ by rounding alone."
    else:
        record, verdict = trace.records[first], verdicts[first]
        wrong = ", ".join(_wrong_ones(verdict))
        yield f"First wrong step: {first} ({record.phase}); wrong there: {wrong}."
        yield f"What differs first: {difference_words(record, verdict)}."
        yield _logits_sentence(trace, verdicts)
    if judged:
        yield _thresholds(judged[-1])
