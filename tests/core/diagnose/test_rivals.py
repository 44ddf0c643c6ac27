"""What is said to tell a rival apart: untrue of the run at hand, and true of one of the rival's."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from core.outcome import Ok
from core.record import LayerRecord, StepRecord
from core.spec import Decode, FaultUse, Prefill, Probe, RunSpec
from core.trace import rows_as_read
from tests.helpers.diagnosis_cases import diagnosis_of, loaded_model
from tests.helpers.runs import Judged, judged, spec_for

PROMPT = (84, 104, 101, 32, 107, 105, 116)
ROPE = spec_for("rope", steps=5, capacity=16)
PADDED = spec_for("learned", capacity=16, requests=(Prefill(PROMPT, 3), Decode(), Decode()))
NARROW = spec_for("learned", steps=4, capacity=16, kv_dtype="int8")
TWO_IN_ONE_SLOT = spec_for(
    "learned",
    capacity=9,
    requests=(Prefill(PROMPT), Decode(), Probe(2, 2), Decode()),
)
FOUR_IN_ONE_SLOT = replace(
    TWO_IN_ONE_SLOT, requests=(Prefill(PROMPT), Decode(), Probe(4, 4), Decode())
)
THEN_ONE_TOO_MANY = replace(
    TWO_IN_ONE_SLOT, requests=(Prefill(PROMPT), Decode(), Decode(), Decode(), Probe(4, 4))
)


def of(spec: RunSpec, fault_id: str) -> Judged:
    faulty = replace(spec, faults=(FaultUse(fault_id),))
    return judged(faulty, loaded_model(spec.model))


def turned(layer: LayerRecord) -> tuple[bool, bool]:
    """Whether queries and new keys are rotated elsewhere than at their position ids."""
    plan = layer.plan
    assert plan.write_position_ids is not None
    ids = plan.position_ids
    return bool((plan.queries_at != ids).any()), bool((plan.write_position_ids != ids).any())


def only_single_tokens_are_moved(run: Judged) -> bool:
    prompt, *later = run.trace.records
    is_right = all(turned(layer) == (False, False) for layer in prompt.layers)
    return is_right and all(turned(record.layers[1]) == (True, True) for record in later)


def only_decoded_tokens_are_numbered_by_column(run: Judged) -> bool:
    prompt, *later = run.trace.records
    ids = prompt.layers[0].plan.position_ids[3:]
    is_by_column = all(r.layers[0].plan.position_ids[0] == 3 + r.token_index[0] for r in later)
    return ids.tolist() == list(range(7)) and is_by_column


def only_what_is_used_is_turned(run: Judged) -> bool:
    """In every decode: the stored keys are as they were written, and earlier ones used turned."""
    records = run.trace.records
    return all(_is_used_turned(records, step) for step in range(1, len(records)))


def _is_used_turned(records: list[StepRecord], step: int) -> bool:
    layer = records[step].layers[0]
    written = np.concatenate([record.layers[0].new_keys for record in records[: step + 1]], axis=1)
    read = rows_as_read(records, step, 0)[0]
    assert layer.used_keys is not None
    is_turned = (layer.used_keys != read).any(axis=(0, 2))
    return np.array_equal(read, written) and is_turned[1:-1].all() and not is_turned[-1]


def values_come_and_zeros_are_read(run: Judged) -> bool:
    records = run.trace.records
    return all(
        record.layers[0].new_keys.any() and not rows_as_read(records, record.step, 0).any()
        for record in records
    )


def one_row_passes_a_full_cache_and_two_too_many_do_not(run: Judged) -> bool:
    steps = list(zip(run.trace.records, run.trace.records[1:], strict=False))
    passes = [
        isinstance(now.outcome, Ok)
        for before, now in steps
        if now.phase == "decode" and before.ledger.length == before.ledger.capacity
    ]
    blocks = [isinstance(now.outcome, Ok) for _, now in steps if now.n_probed == (4, 4)]
    return passes == [True] and blocks == [False]


Holds = Callable[[Judged], bool]
PAIRS: tuple[tuple[str, RunSpec, str, RunSpec, str, Holds], ...] = (
    (
        "pos-layer-prefill", ROPE, "pos-layer-counter", ROPE,
        "calls of several tokens would be right, and keys move as queries do, from layer 1 on",
        only_single_tokens_are_moved,
    ),
    (
        "pos-captured-alias", ROPE, "pos-layer-counter", ROPE,
        "calls of several tokens would be right, and keys move as queries do, from layer 1 on",
        only_single_tokens_are_moved,
    ),
    (
        "pos-pad-columns", PADDED, "pos-pad-mixed", PADDED,
        "the prefill would be right, and decoded tokens alone be numbered by their column",
        only_decoded_tokens_are_numbered_by_column,
    ),
    (
        "rope-write-back", ROPE, "rope-on-read", ROPE,
        "stored keys would stay as they are, and those of earlier calls alone be turned when used",
        only_what_is_used_is_turned,
    ),
    (
        "rope-writeback-lost", ROPE, "rope-on-read", ROPE,
        "stored keys would stay as they are, and those of earlier calls alone be turned when used",
        only_what_is_used_is_turned,
    ),
    (
        "quant-zero-scale", NARROW, "store-write-lost", NARROW,
        "rows would have values when they are handed to the store, and all of them read zero",
        values_come_and_zeros_are_read,
    ),
    (
        "cap-one-row-test", TWO_IN_ONE_SLOT, "cap-late", THEN_ONE_TOO_MANY,
        "a single row would be let in beside a full cache, and two rows too many be refused",
        one_row_passes_a_full_cache_and_two_too_many_do_not,
    ),
    (
        "cap-one-row-test", FOUR_IN_ONE_SLOT, "cap-late", THEN_ONE_TOO_MANY,
        "a single row would be let in beside a full cache, and two rows too many be refused",
        one_row_passes_a_full_cache_and_two_too_many_do_not,
    ),
)  # fmt: skip


@pytest.mark.parametrize(
    ("fault_id", "spec", "rival", "shown_by", "sentence", "holds"),
    PAIRS,
    ids=[f"{pair[0]}, not {pair[2]} {place}" for place, pair in enumerate(PAIRS)],
)
def test_what_tells_a_rival_apart_is_seen_with_the_rival_and_not_in_the_run(
    fault_id: str, spec: RunSpec, rival: str, shown_by: RunSpec, sentence: str, holds: Holds
) -> None:
    named, other = of(spec, fault_id), of(shown_by, rival)
    [found] = diagnosis_of(named)
    assert found.preset_like == fault_id
    said = {each.preset_like: each.separate_by for each in found.rivals}
    assert said[rival] == sentence
    assert not holds(named)
    assert holds(other)


def test_a_prefill_of_one_token_tells_nothing_of_the_counter_that_moves_in_a_prefill_too() -> None:
    """Both move it alike: calls of several tokens tell, and there are none."""
    named = of(replace(ROPE, prompt_ids=(84,)), "pos-layer-prefill")
    [found] = diagnosis_of(named)
    said = {each.preset_like: each.separate_by for each in found.rivals}
    assert found.preset_like == "pos-layer-counter"
    assert said["pos-layer-prefill"] == (
        "calls of several tokens would be rotated elsewhere as well, from layer 1 on"
    )
    assert all(len(record.slots) == 1 for record in named.trace.records)
    assert turned(named.trace.records[0].layers[1]) == (True, True)
