"""The first field that differs, when any of them does, and when several do."""

from dataclasses import replace

import numpy as np
import pytest

from core.arrays import ABSENT, as_ids, frozen
from core.compare import (
    Detail,
    Step,
    agrees_with_policy,
    first_difference,
    held_of,
    readable_of,
)
from core.outcome import Refused
from core.policy_oracle import PolicyOracle, PolicyRules
from core.reference import Reference
from core.spec import Decode, FaultUse, Prefill, Probe
from core.trace import Trace
from core.verdict import FIELDS, Difference
from tests.helpers.engines import with_layer, with_record
from tests.helpers.runs import judge_again, judged, run, spec_for, tiny

STEP, LAYER = 3, 2


@pytest.fixture(scope="module")
def trace() -> Trace:
    """Chunks of 3, 3 and 1, then decodes, in a window that drops tokens from step 2 on."""
    return run(spec_for("rope", policy="window", capacity=6, chunk=3, steps=3))


TENSORS = ("keys", "values", "rotated_keys", "scores", "weights", "output", "residual")
NO_NOISE = dict.fromkeys(TENSORS, np.zeros(4))
"""So the bands of the number type alone hold."""


def _compared(trace: Trace, step: int = STEP, *, logits_differ: bool = True) -> Difference | None:
    """The first difference of a step from what is right for its tokens."""
    spec, loaded = trace.spec, tiny(trace.spec.model.removeprefix("tiny-"))
    oracle = PolicyOracle(
        PolicyRules(
            spec.policy, spec.capacity, spec.sinks, spec.reassign_positions,
            loaded.config.position_limit,
        )
    )  # fmt: skip
    records = trace.records[: step + 1]
    expected = [oracle.append(record.token_ids, engine_accepted=True) for record in records]
    reference = Reference(loaded.config, loaded.weights.arrays())
    place = Step(records, expected[-1], spec.dtype)
    row = expected[-1].row
    assert row is not None

    def detail() -> Detail:
        run_ = reference.forward(
            oracle.passage(expected[-1].passage_id), first_row=row - place.n_compared + 1,
            detail=True,
        )  # fmt: skip
        return Detail(run_, records[-1].token_index[-1] - row, 0, NO_NOISE)

    return first_difference(place, detail, logits_differ=logits_differ)


def _changed(trace: Trace, name: str, where=0, by: float = 1e-6, layer: int = LAYER) -> Trace:
    """One number of one tensor of one layer changed."""
    array = getattr(trace.records[STEP].layers[layer], name).copy()
    array[where] += by
    return with_layer(trace, STEP, layer, **{name: frozen(array)})


def _moved(trace: Trace, head: int, *parts: int) -> Trace:
    """A number of a key (part 0) or value (part 1) that this step read, changed as it came back.

    The row is one that was written in an earlier step; now its bytes are first read in this one.
    """
    layer = trace.records[STEP].layers[LAYER]
    first, version, column = layer.first_read, layer.row_version.copy(), 1
    row = layer.plan.read_rows[column]
    source = trace.records[int(version[column])].layers[LAYER].first_read
    kept = source.kv[:, :, source.row == row].copy()
    for part in parts:
        kept[part, head, 0, 4] += 1e-6
    version[column] = STEP
    others = first.row != row
    rows = replace(
        first,
        row=as_ids([*first.row[others], row]),
        kv=frozen(np.concatenate((first.kv[:, :, others], kept), axis=2)),
    )
    return with_layer(trace, STEP, LAYER, first_read=rows, row_version=frozen(version))


def test_where_nothing_differs_the_logits_are_named_for_want_of_another_field(trace):
    for step in range(len(trace.records)):
        assert _compared(trace, step) == Difference(None, None, "logits")


def test_a_step_that_computed_nothing_and_is_as_expected_has_no_difference():
    refused = run(spec_for("rope", capacity=7, steps=1))
    record = refused.records[1]
    oracle = PolicyOracle(PolicyRules("refuse", 7))
    oracle.append(refused.records[0].token_ids, engine_accepted=True)
    expected = oracle.append(record.token_ids, engine_accepted=False)
    assert (
        first_difference(
            Step(refused.records, expected, "float64"), lambda: None, logits_differ=False
        )
        is None
    )


@pytest.mark.parametrize("head", [0, 1])
@pytest.mark.parametrize(("part", "field"), [(0, "keys"), (1, "values")])
def test_a_row_that_came_back_different_is_named_with_its_head(trace, part, field, head):
    assert _compared(_moved(trace, head, part)) == Difference(LAYER, head, field)


@pytest.mark.parametrize("name", ["scores", "weights"])
@pytest.mark.parametrize("head", [0, 1, 3])
@pytest.mark.parametrize("layer", [0, 3])
def test_scores_and_weights_are_named_with_their_head(trace, name, head, layer):
    # Column 1 holds the oldest token that the query may still read.
    changed = _changed(trace, name, (head, 0, 1), layer=layer)
    assert _compared(changed) == Difference(layer, head, name)


def test_a_score_of_a_row_that_the_query_may_not_read_does_not_count(trace):
    plan = trace.records[STEP].layers[LAYER].plan
    assert plan.mask[0].tolist() == [False, *[True] * 6]
    assert _compared(_changed(trace, "scores", (0, 0, 0), by=5.0)).field == "logits"


@pytest.mark.parametrize("name", ["output", "residual"])
def test_output_and_residual_belong_to_no_head(trace, name):
    assert _compared(_changed(trace, name, (0, 5))) == Difference(LAYER, None, name)


@pytest.mark.parametrize("name", ["scores", "weights", "output", "residual"])
def test_a_change_below_the_band_is_no_difference(trace, name):
    where = (0, 0, 1) if name in {"scores", "weights"} else (0, 0)
    assert _compared(_changed(trace, name, where, by=1e-15)).field == "logits"


@pytest.mark.parametrize("name", ["scores", "weights", "output", "residual"])
def test_what_is_not_a_number_differs(trace, name):
    where = (0, 0, 1) if name in {"scores", "weights"} else (0, 0)
    assert _compared(_changed(trace, name, where, by=np.nan)).field == name


def test_a_changed_mask_is_named_as_visible(trace):
    plan = trace.records[STEP].layers[LAYER].plan
    mask = plan.mask.copy()
    mask[0, 3] = False
    changed = with_layer(trace, STEP, LAYER, plan=replace(plan, mask=frozen(mask)))
    assert _compared(changed) == Difference(LAYER, None, "visible")


def test_a_row_without_a_token_that_is_visible_is_named_as_visible(trace):
    tokens = trace.records[STEP].layers[LAYER].row_token.copy()
    tokens[3] = ABSENT
    changed = with_layer(trace, STEP, LAYER, row_token=frozen(tokens))
    assert _compared(changed) == Difference(LAYER, None, "visible")


def test_a_view_that_lacks_a_readable_token_is_named_by_its_keys(trace):
    plan = trace.records[STEP].layers[LAYER].plan
    tokens = plan.view_token_index.copy()
    tokens[2] = ABSENT
    changed = with_layer(trace, STEP, LAYER, plan=replace(plan, view_token_index=frozen(tokens)))
    assert _compared(changed) == Difference(LAYER, None, "keys")


def test_reassigned_keys_are_compared_as_each_query_rotated_them():
    spec = spec_for(
        "rope", policy="sinks", sinks=1, reassign_positions=True, capacity=4, chunk=3, steps=3
    )
    trace = run(spec)
    assert _compared(trace) == Difference(None, None, "logits")
    keys = trace.records[STEP].layers[LAYER].used_keys.copy()
    keys[0, 1, -1, 3] += 1e-6
    changed = with_layer(trace, STEP, LAYER, used_keys=frozen(keys))
    assert _compared(changed) == Difference(LAYER, 1, "rotated_keys")


def test_reassigned_keys_that_the_query_may_not_read_do_not_count():
    spec = spec_for(
        "rope", policy="sinks", sinks=1, reassign_positions=True, capacity=4, chunk=3, steps=3
    )
    trace = run(spec)
    plan = trace.records[STEP].layers[LAYER].plan
    hidden = int(np.flatnonzero(~plan.mask[0])[0])
    keys = trace.records[STEP].layers[LAYER].used_keys.copy()
    keys[0, :, hidden] += 1.0
    changed = with_layer(trace, STEP, LAYER, used_keys=frozen(keys))
    assert _compared(changed) == Difference(None, None, "logits")


# What is decided once per step.

DECIDED = {
    "outcome": {"outcome": Refused(1, 0)},
    "length": {"reported_length": 99},
    "slots": {"slots": as_ids([0])},
    "readable": {"readable": (as_ids([0, 1]),)},
    "contents": {},
}


def _with_ledger(trace: Trace, **changes) -> Trace:
    return with_record(trace, STEP, ledger=replace(trace.records[STEP].ledger, **changes))


def _holding(trace: Trace, token: int) -> Trace:
    """The trace in which the step keeps another token in place of the first that it holds."""
    tokens = trace.records[STEP].ledger.token_index.copy()
    tokens[0] = token
    return _with_ledger(trace, token_index=frozen(tokens))


@pytest.mark.parametrize("name", DECIDED)
def test_a_decision_that_differs_belongs_to_no_layer(trace, name):
    slots = trace.records[STEP - 1].ledger.counted_slots
    changes = {"slots": slots[:1]} if name == "slots" else DECIDED[name]
    changed = _holding(trace, 0) if name == "contents" else with_record(trace, STEP, **changes)
    assert _compared(changed, logits_differ=False) == Difference(None, None, name)


def test_a_slot_in_use_in_the_step_before_is_no_free_slot(trace):
    before = trace.records[STEP - 1].ledger
    for slot in before.counted_slots.tolist():
        changed = with_record(trace, STEP, slots=as_ids([slot]))
        assert _compared(changed).field == "slots"


def test_two_tokens_cannot_share_a_slot(trace):
    changed = with_record(trace, 1, slots=as_ids([3, 4, 3]))
    assert _compared(changed, 1).field == "slots"


def _all_at_once(trace: Trace) -> list[tuple[str, Trace]]:
    """The trace with more and more fields changed, the last one of FIELDS first."""
    plan = trace.records[STEP].layers[LAYER].plan
    mask = plan.mask.copy()
    mask[0, 3] = False
    steps = [
        ("contents", lambda t: _holding(t, 0)),
        ("residual", lambda t: _changed(t, "residual", (0, 5))),
        ("output", lambda t: _changed(t, "output", (0, 5))),
        ("weights", lambda t: _changed(t, "weights", (1, 0, 2))),
        ("scores", lambda t: _changed(t, "scores", (2, 0, 2))),
        (
            "visible",
            lambda t: with_layer(
                t, STEP, LAYER, plan=replace(t.records[STEP].layers[LAYER].plan, mask=frozen(mask))
            ),
        ),
        ("values", lambda t: _moved(t, 0, 1)),
        ("keys", lambda t: _moved(t, 0, 0)),
        ("readable", lambda t: with_record(t, STEP, readable=(as_ids([0, 1]),))),
        ("slots", lambda t: with_record(t, STEP, slots=t.records[STEP - 1].ledger.slot[:1])),
        (
            "position_ids",
            lambda t: with_layer(
                t, STEP, 0, plan=replace(t.records[STEP].layers[0].plan, position_ids=as_ids([1]))
            ),
        ),
        ("seen", lambda t: _with_ledger(t, seen=99)),
        ("length", lambda t: with_record(t, STEP, reported_length=99)),
        ("outcome", lambda t: with_record(t, STEP, outcome=Refused(1, 0))),
    ]
    changed, all_changed = trace, []
    for name, change in steps:
        changed = change(changed)
        all_changed.append((name, changed))
    return all_changed


def test_of_several_differences_the_first_in_the_order_of_fields_is_named(trace):
    named = [_compared(changed, logits_differ=False).field for _, changed in _all_at_once(trace)]
    assert named == [name for name, _ in _all_at_once(trace)]
    in_order = [name for name in FIELDS if name in named]
    assert named == in_order[::-1]


def test_an_earlier_layer_comes_before_an_earlier_field(trace):
    changed = _changed(trace, "residual", (0, 5), layer=1)
    changed = _changed(changed, "scores", (2, 0, 2), layer=2)
    assert _compared(changed) == Difference(1, None, "residual")


# Agreement with the policy.


def _expected(trace: Trace, step: int):
    oracle = PolicyOracle(PolicyRules("window", 6))
    expected = [oracle.append(r.token_ids, engine_accepted=True) for r in trace.records[: step + 1]]
    return expected[-1]


def test_a_right_step_agrees_with_the_policy(trace):
    for step, record in enumerate(trace.records):
        assert agrees_with_policy(record, _expected(trace, step))


@pytest.mark.parametrize(
    "changes",
    [
        {"outcome": Refused(1, 0)},
        {"reported_length": 5},
        {"readable": (as_ids([0]),)},
        {"readable": ()},
    ],
)
def test_a_step_that_differs_in_a_decision_does_not_agree(trace, changes):
    record = replace(trace.records[STEP], **changes)
    assert not agrees_with_policy(record, _expected(trace, STEP))


def test_wrong_logits_come_before_what_the_step_leaves_behind(trace):
    assert _compared(_holding(trace, 0)).field == "logits"


@pytest.mark.parametrize("token", [0, ABSENT, 3])
def test_a_step_that_keeps_another_token_does_not_agree(trace, token):
    assert trace.records[STEP].ledger.token_index.tolist() == [2, 3, 4, 5, 6, 7]
    record = _holding(trace, token).records[STEP]
    assert not agrees_with_policy(record, _expected(trace, STEP))


def test_a_step_that_keeps_a_token_at_another_position_does_not_agree(trace):
    ledger = trace.records[STEP].ledger
    record = _with_ledger(trace, position_id=frozen(ledger.position_id - 1)).records[STEP]
    assert not agrees_with_policy(record, _expected(trace, STEP))


def test_in_which_slots_and_in_which_order_the_tokens_are_kept_takes_no_part(trace):
    ledger = trace.records[STEP].ledger
    arrays = {name: getattr(ledger, name) for name in ("slot", "token_index", "position_id")}
    turned = {name: frozen(np.roll(array, 2)) for name, array in arrays.items()}
    for changes in (turned, {"slot": frozen(ledger.slot[::-1].copy())}):
        record = _with_ledger(trace, **changes).records[STEP]
        assert agrees_with_policy(record, _expected(trace, STEP))


def test_an_entry_that_the_ledger_does_not_count_is_not_held(trace):
    ledger = trace.records[STEP].ledger
    one_more = {
        name: frozen(np.append(getattr(ledger, name), 99))
        for name in ("slot", "token_index", "position_id", "token_id")
    }
    record = _with_ledger(trace, **one_more).records[STEP]
    assert held_of(record) == held_of(trace.records[STEP])


def test_what_is_held_is_judged_where_nothing_was_computed():
    """A refusal that lets a token go is wrong, whatever length it tells."""
    trace = run(spec_for("rope", capacity=7, steps=1))
    record, ledger = trace.records[1], trace.records[1].ledger
    oracle = PolicyOracle(PolicyRules("refuse", 7))
    oracle.append(trace.records[0].token_ids, engine_accepted=True)
    expected = oracle.append(record.token_ids, engine_accepted=False)
    changed = replace(record, ledger=replace(ledger, token_index=frozen(ledger.token_index + 1)))
    place = Step([trace.records[0], changed], expected, "float64")
    found = first_difference(place, lambda: None, logits_differ=False)
    assert found == Difference(None, None, "contents")


def test_slots_take_no_part_in_the_agreement(trace):
    record = replace(trace.records[STEP], slots=as_ids([0]))
    assert agrees_with_policy(record, _expected(trace, STEP))


def test_readable_sets_are_those_of_the_new_tokens_only():
    trace = run(spec_for("learned", policy="reprefill", capacity=3, prompt_ids=(1, 2, 3), steps=1))
    assert readable_of(trace.records[1]) == ((1, 2, 3),)
    skipping = run(
        spec_for("learned", policy="reprefill", capacity=2, prompt_ids=(1, 2, 3, 4), steps=0)
    )
    assert readable_of(skipping.records[0]) == ((), (), (2,), (2, 3))
    refused = run(spec_for("rope", capacity=6, steps=0))
    assert readable_of(refused.records[0]) == ()


def test_right_logits_are_not_named_where_a_row_was_read_in_vain() -> None:
    """A row that holds no token is read, and the mask lets no query see it."""
    run = judged(
        spec_for(
            "learned",
            capacity=12,
            steps=0,
            chunk=1,
            faults=(FaultUse("mask-top-left"), FaultUse("mask-unwritten")),
        )
    )
    first = run.verdicts[0]
    assert first.logits is not None
    assert first.logits.standing == "right"
    assert first.first_difference == Difference(0, None, "keys")


def test_rows_of_no_token_that_are_rightly_read_are_not_named_where_contents_are_wrong() -> None:
    """Padding and a probe are read; all that is wrong is what the last step says it keeps."""
    requests = (Prefill((1, 2, 3), 2), Probe(1, 1), Decode())
    trace = run(spec_for("rope", prompt_ids=(1, 2, 3), capacity=12, requests=requests))
    last = trace.records[-1]
    assert (last.layers[0].row_token == ABSENT).sum() == 3
    places = last.ledger.position_id.copy()
    places[-1] += 1
    ledger = replace(last.ledger, position_id=frozen(places))
    changed = replace(trace, records=[*trace.records[:-1], replace(last, ledger=ledger)])
    verdict = judge_again(changed, tiny("rope")).verdicts[-1]
    assert (verdict.policy, verdict.mechanism) == ("wrong", "right")
    assert verdict.first_difference == Difference(None, None, "contents")
