"""A run as JSON lines: one for the run, one per step, one for its end.

Numbers that are not finite are the strings "nan", "inf" and "-inf". In a step line, lists of more
than 512 numbers are half-open ranges, and the line says so. Sets of tokens are ascending; null
stands for a row that holds no token, and comes last.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from core.arrays import ABSENT
from core.compare import readable_of
from core.outcome import Ok, Outcome, PositionLimit, Refused
from core.readouts.history import text_after
from core.record import LayerRecord, StepRecord
from core.script import EndReason
from core.spec import RunSpec
from core.trace import ModelInfo
from core.trace_json import finite_or_text
from core.verdict import Difference, StepVerdict

SCHEMA = 1
LONGEST_LIST = 512

Decode = Callable[[Sequence[int]], str]
"""Token ids to text."""
_Sets = list[list[int | None]]


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
        "spec": spec.to_json(),
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
            "live": _live(records, record.step, 0),
        },
        "layers": _differing_layers(records, record.step),
        "next": _next(record, decode),
        "reference": _reference(verdict),
        "verdict": _verdict(verdict),
        "outcome": _outcome(record.outcome),
        "expected_outcome": _outcome(expected.outcome),
    }
    shortened = _with_ranges(line)
    return line if shortened == line else {**shortened, "ranges": True}


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
        "diagnosis": [],
    }


def text_read(records: Sequence[StepRecord]) -> list[int]:
    """Token ids of the text as it stands after the last step."""
    return [token.token_id for token in text_after(records, len(records) - 1).values()]


def first_wrong_step(verdicts: Sequence[StepVerdict]) -> int | None:
    """The first step of which any verdict is wrong."""
    return next((verdict.step for verdict in verdicts if verdict.is_wrong), None)


def first_wrong_logits(verdicts: Sequence[StepVerdict]) -> int | None:
    """The first step whose logits are wrong."""
    return next(
        (v.step for v in verdicts if v.logits is not None and v.logits.standing == "wrong"), None
    )


def visible(record: StepRecord, layer: int) -> _Sets:
    """For each new token, the tokens whose rows its query saw in a layer."""
    if not record.layers:
        return []
    seen: _Sets = [[] for _ in range(record.n_skipped)]
    layer_record = record.layers[layer]
    for mask in layer_record.plan.mask[record.n_recomputed :]:
        tokens = layer_record.row_token[mask]
        held = sorted(tokens[tokens != ABSENT].tolist())
        seen.append([*held, *[None] * (len(tokens) - len(held))])
    return seen


def _expected_visible(verdict: StepVerdict) -> _Sets:
    """What the policy lets each new token read, and the rows without a token that are held."""
    expected = verdict.expected
    n_loose = expected.length - len(expected.live)
    return [[*tokens, *[None] * n_loose] for tokens in expected.readable]


def _live(records: Sequence[StepRecord], step: int, layer: int) -> list[dict[str, int | None]]:
    """One entry per counted slot, with the token whose row is really there in a layer."""
    rows = records[step].live[layer]
    numbers = _numbers(records, step)
    entries: list[dict[str, int | None]] = []
    for slot, row, token_index in zip(
        rows.slot.tolist(), rows.row.tolist(), rows.token_index.tolist(), strict=True
    ):
        position_id, token_id = numbers(token_index)
        entries.append(
            {
                "slot": slot,
                "row": None if row == ABSENT else row,
                "token_index": None if token_index == ABSENT else token_index,
                "position_id": position_id,
                "token_id": token_id,
            }
        )
    return entries


def _numbers(
    records: Sequence[StepRecord], step: int
) -> Callable[[int], tuple[int | None, int | None]]:
    """Position id and token id of a token index: as it is held, else as it was last read."""
    ledger = records[step].ledger
    held = dict(
        zip(
            ledger.token_index.tolist(),
            zip(ledger.position_id.tolist(), ledger.token_id.tolist(), strict=True),
            strict=True,
        )
    )
    held.pop(ABSENT, None)

    def find(token_index: int) -> tuple[int | None, int | None]:
        if token_index == ABSENT:
            return None, None
        return held.get(token_index) or _as_read(records[: step + 1], token_index)

    return find


def _as_read(records: Sequence[StepRecord], token_index: int) -> tuple[int | None, int | None]:
    for record in reversed(records):
        if isinstance(record.outcome, Ok) and token_index in record.token_index:
            place = record.token_index.index(token_index)
            return record.position_ids[place], record.token_ids[place]
    return None, None


def _differing_layers(records: Sequence[StepRecord], step: int) -> dict[str, Any]:
    """The layers in which the positions, the visible tokens or the live rows differ from layer 0."""
    record = records[step]
    found: dict[str, Any] = {}
    for layer in range(1, len(record.live)):
        different: dict[str, Any] = {}
        if record.layers:
            different |= _different_reading(record, layer)
        if record.live[layer] is not record.live[0]:
            live = _live(records, step, layer)
            if live != _live(records, step, 0):
                different["cache"] = {"live": live}
        if different:
            found[str(layer)] = different
    return found


def _different_reading(record: StepRecord, layer: int) -> dict[str, Any]:
    first, this = record.layers[0], record.layers[layer]
    if this.plan is first.plan and (this.row_token == first.row_token).all():
        return {}
    different: dict[str, Any] = {}
    positions = _position_ids(record, this)
    if positions != _position_ids(record, first):
        different["position_ids"] = positions
    seen = visible(record, layer)
    if seen != visible(record, 0):
        different["visible"] = seen
    return different


def _position_ids(record: StepRecord, layer: LayerRecord) -> list[int | None]:
    computed: list[int] = layer.plan.position_ids[record.n_recomputed :].tolist()
    return [*[None] * record.n_skipped, *computed]


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


def _outcome(outcome: Outcome) -> Any:
    match outcome:
        case Ok():
            return "ok"
        case Refused(needed, free):
            return {"refused": {"needed": needed, "free": free}}
        case PositionLimit(n_ctx):
            return {"position_limit": n_ctx}


def _with_ranges(value: Any) -> Any:
    """The same with long lists of numbers as half-open ranges; the given value where none is."""
    if isinstance(value, dict):
        return {k: _with_ranges(v) for k, v in cast("Mapping[str, Any]", value).items()}
    if not isinstance(value, list):
        return value
    items = cast("list[Any]", value)
    if len(items) > LONGEST_LIST and not isinstance(items[0], list | dict):
        return _ranges(items)
    return [_with_ranges(item) for item in items]


def _ranges(numbers: Sequence[int | None]) -> list[list[int] | None]:
    """Numbers that follow one another as [first, one past the last]; a null stays by itself."""
    ranges: list[list[int] | None] = []
    for number in numbers:
        last = ranges[-1] if ranges else None
        if number is None:
            ranges.append(None)
        elif last is not None and last[1] == number:
            last[1] = number + 1
        else:
            ranges.append([number, number + 1])
    return ranges
