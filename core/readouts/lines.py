"""A run as JSON lines: one for the run, one per step, one for its end.

Numbers that are not finite are the strings "nan", "inf" and "-inf". In a step line, lists of more
than 512 numbers are half-open ranges, and the line says so. Sets of tokens are ascending; null
stands for a row that holds no token, and comes last. `expected_live` is null where `live` lists
just the tokens, at just the position ids, that are to be held after the step.
"""

from collections.abc import Callable, Sequence
from typing import Any

from core.compare import readable_of
from core.diagnose.diagnose import diagnose
from core.diagnose.finding import Diagnosis
from core.outcome import Ok, Outcome, PositionLimit, Refused
from core.readouts.history import text_after
from core.readouts.line_parts import (
    Sets,
    differing_layers,
    expected_live,
    live,
    visible,
    with_ranges,
)
from core.record import StepRecord
from core.spec import RunSpec
from core.trace import EndReason, ModelInfo
from core.trace_json import finite_or_text, to_json
from core.verdict import Difference, StepVerdict

SCHEMA = 1

Decode = Callable[[Sequence[int]], str]
"""Token ids to text."""


def run_line(spec: RunSpec, model: ModelInfo) -> dict[str, Any]:
    """What is run."""
    return {
        "kind": "run",
        "schema": SCHEMA,
        "model": {
            "name": model.name,
            "path": model.path,
            "scheme": model.config.scheme,
            "layers": model.config.n_layers,
            "heads": model.config.n_heads,
            "kv_heads": model.config.n_kv_heads,
        },
        "spec": to_json(spec),
        "prompt_ids": list(spec.prompt_ids),
    }


def step_line(
    records: Sequence[StepRecord], verdict: StepVerdict, decode: Decode
) -> dict[str, Any]:
    """What a step did and what it should have done.

    Args:
        records: of the run, at least up to this step.
        verdict: of the step.
        decode: token ids to text.
    """
    record, expected = records[verdict.step], verdict.expected
    held = live(records, record.step, 0)
    line = {
        "kind": "step",
        "step": record.step,
        "request": record.request,
        "phase": record.phase,
        "token_ids": list(record.token_ids) if isinstance(record.outcome, Ok) else [],
        "recomputed": record.n_recomputed,
        "position_ids": list(record.position_ids),
        "expected_position_ids": list(expected.position_ids),
        "visible": visible(record, 0),
        "expected_visible": _expected_visible(verdict),
        "readable": [list(tokens) for tokens in readable_of(record)],
        "expected_readable": [list(tokens) for tokens in expected.readable],
        "cache": {
            "capacity": record.ledger.capacity,
            "length": record.reported_length,
            "expected_length": expected.length,
            "seen": record.ledger.seen,
            "expected_seen": expected.seen,
            "live": held,
            "expected_live": expected_live(held, expected),
        },
        "layers": differing_layers(records, record.step),
        "next": _next(record, decode),
        "reference": _reference(verdict),
        "verdict": _verdict(verdict),
        "outcome": _outcome(record.outcome),
        "expected_outcome": _outcome(expected.outcome),
    }
    return with_ranges(line)


def end_line(
    records: Sequence[StepRecord],
    verdicts: Sequence[StepVerdict],
    reason: EndReason,
    decode: Decode,
) -> dict[str, Any]:
    """How the run ended, with the text that was read."""
    return {
        "kind": "end",
        "reason": reason,
        "text": decode(text_read(records)),
        "first_wrong_step": first_wrong_step(verdicts),
        "first_wrong_logits": first_wrong_logits(verdicts),
        "diagnosis": [_diagnosis(found) for found in diagnosis_of(records, verdicts)],
    }


def diagnosis_of(
    records: Sequence[StepRecord], verdicts: Sequence[StepVerdict]
) -> tuple[Diagnosis, ...]:
    """The mechanisms behind what is wrong in a run that is over and judged."""
    return diagnose(records, {verdict.step: verdict for verdict in verdicts})


def _diagnosis(found: Diagnosis) -> dict[str, Any]:
    where = found.where
    return {
        "mechanism": found.mechanism,
        "preset_like": found.preset_like,
        "where": {
            "step": where.step,
            "layer": where.layer,
            "head": where.head,
            "field": where.field,
        },
        "evidence": list(found.evidence),
        "rivals": [
            {"preset_like": rival.preset_like, "separate_by": rival.separate_by}
            for rival in found.rivals
        ],
    }


def text_read(records: Sequence[StepRecord]) -> list[int]:
    """Token ids of the text as it stands after the last step; none where there was no step."""
    if not records:
        return []
    return [token.token_id for token in text_after(records, len(records) - 1).values()]


def first_wrong_step(verdicts: Sequence[StepVerdict]) -> int | None:
    """The first step of which any verdict is wrong."""
    return next((verdict.step for verdict in verdicts if verdict.is_wrong), None)


def first_wrong_logits(verdicts: Sequence[StepVerdict]) -> int | None:
    """The first step whose logits are wrong."""
    return next(
        (v.step for v in verdicts if v.logits is not None and v.logits.standing == "wrong"), None
    )


def _expected_visible(verdict: StepVerdict) -> Sets:
    """What the policy lets each new token read, and the rows without a token that are held."""
    expected = verdict.expected
    n_loose = expected.n_loose
    return [[*tokens, *[None] * n_loose] for tokens in expected.readable]


def _next(record: StepRecord, decode: Decode) -> dict[str, Any] | None:
    if not record.is_computed or record.next_token is None:
        return None
    return {
        "token_id": record.next_token,
        "text": decode((record.next_token,)),
        "forced": record.is_forced,
        "predicted": record.predicted,
    }


def _reference(verdict: StepVerdict) -> dict[str, Any] | None:
    logits = verdict.logits
    if logits is None:
        return None
    return {
        "token_id": logits.reference_token,
        "max_abs_logit_error": finite_or_text(logits.max_abs_error),
        "kl": finite_or_text(logits.kl),
    }


def _verdict(verdict: StepVerdict) -> dict[str, Any]:
    return {
        "logits": None if verdict.logits is None else verdict.logits.standing,
        "policy": verdict.policy,
        "mechanism": verdict.mechanism,
        "first_difference": _difference(verdict.first_difference),
    }


def _difference(difference: Difference | None) -> dict[str, Any] | None:
    if difference is None:
        return None
    return {"layer": difference.layer, "head": difference.head, "field": difference.field}


def _outcome(outcome: Outcome) -> str | dict[str, Any]:
    match outcome:
        case Ok():
            return "ok"
        case Refused(needed, free):
            return {"refused": {"needed": needed, "free": free}}
        case PositionLimit(n_ctx):
            return {"position_limit": n_ctx}
