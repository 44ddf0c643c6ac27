import pytest

from core.engine.seams import CORRECT
from core.errors import FaultError
from core.faults.activation import activate
from core.faults.catalog import FAULTS
from core.faults.fault import changed_seams
from core.spec import Decode, FaultUse, Prefill, Rollback
from tests.helpers.runs import SCHEMES, judged, run, spec_for


def _active(use, n_steps=6, n_layers=2):
    """Per step and layer, the seams that are wrong."""
    at = activate((use,), n_layers).tables()
    return [[list(changed_seams(table)) for table in at(step)] for step in range(n_steps)]


def test_without_faults_every_layer_asks_the_correct_table():
    at = activate((), 3).tables()
    assert all(table is CORRECT for table in at(0))


def test_a_fault_acts_at_every_step_and_in_every_layer():
    assert _active(FaultUse("mask-top-left")) == [[["causal_mask"]] * 2] * 6


def test_both_ends_of_a_range_of_steps_are_included():
    wrong, right = [["causal_mask"]] * 2, [[]] * 2
    found = _active(FaultUse("mask-top-left", first_step=2, last_step=3))
    assert found == [right, right, wrong, wrong, right, right]
    assert _active(FaultUse("mask-top-left", 4)) == [right] * 4 + [wrong] * 2
    assert _active(FaultUse("mask-top-left", 4, 4)) == [right] * 4 + [wrong, right]


def test_a_fault_acts_only_in_the_layers_that_are_named():
    found = _active(FaultUse("mask-top-left", layers=(1,)), n_layers=3)
    assert found == [[[], ["causal_mask"], []]] * 6


def test_layers_that_agree_ask_one_object():
    at = activate((FaultUse("mask-top-left", 1, layers=(0, 2)),), 4).tables()
    zero, one, two, three = at(1)
    assert zero is two
    assert one is three is CORRECT
    assert at(2)[0] is zero
    assert all(table is CORRECT for table in at(0))


def test_faults_on_different_seams_act_together():
    at = activate((FaultUse("pos-restart"), FaultUse("store-row-zero", 2)), 1).tables()
    assert set(changed_seams(at(0)[0])) == {"position_ids"}
    assert set(changed_seams(at(2)[0])) == {"position_ids", "store"}


@pytest.mark.parametrize(
    "uses",
    [
        pytest.param(("store-row-zero", "store-alias-in"), id="both replace store"),
        pytest.param(("cap-counter-first", "store-uneven"), id="both replace admit"),
        pytest.param(("pos-restart", "both-bugs"), id="a member of a combination"),
        pytest.param(("pos-restart", "pos-restart"), id="the same twice"),
    ],
)
def test_two_faults_on_one_seam_are_refused_by_name(uses):
    with pytest.raises(FaultError) as caught:
        activate(tuple(FaultUse(use) for use in uses), 2)
    assert "both replace the seam" in str(caught.value)


def test_the_message_names_both_faults_and_their_seam():
    uses = FaultUse("store-row-zero"), FaultUse("store-alias-in")
    with pytest.raises(FaultError, match=r"store-row-zero and store-alias-in .* seam store"):
        activate(uses, 2)


@pytest.mark.parametrize(
    ("first", "second", "meet"),
    [
        pytest.param(("x", 0, 2, None), ("y", 3, None, None), False, id="one after the other"),
        pytest.param(("x", 0, 3, None), ("y", 3, None, None), True, id="a shared step"),
        pytest.param(("x", 0, None, (0,)), ("y", 0, None, (1,)), False, id="other layers"),
        pytest.param(("x", 0, None, (0, 1)), ("y", 0, None, (1,)), True, id="a shared layer"),
        pytest.param(("x", 0, 1, (0,)), ("y", 5, 6, (0,)), False, id="other steps"),
        pytest.param(("x", 0, 1, None), ("y", 1, 1, (1,)), True, id="all layers meet one"),
    ],
)
def test_faults_on_one_seam_may_act_at_different_steps_or_layers(first, second, meet):
    uses = FaultUse("store-row-zero", *first[1:]), FaultUse("store-alias-in", *second[1:])
    if meet:
        with pytest.raises(FaultError):
            activate(uses, 2)
    else:
        activate(uses, 2)


@pytest.mark.parametrize(
    "fault_id", ["pos-restart", "cap-early", "cap-counter-first", "store-uneven", "both-bugs"]
)
def test_layers_are_refused_for_a_decision_that_is_taken_once(fault_id):
    with pytest.raises(FaultError, match="one decision for all layers"):
        activate((FaultUse(fault_id, layers=(0,)),), 2)


@pytest.mark.parametrize("layers", [(2,), (0, 7), (-1,), ()])
def test_layers_that_the_model_has_not_are_refused(layers):
    with pytest.raises(FaultError, match=r"names layer .*the model has 0 to 1"):
        activate((FaultUse("mask-top-left", layers=layers),), 2)


@pytest.mark.parametrize(("first", "last"), [(3, 2), (-1, None), (-2, 5)])
def test_steps_in_wrong_order_are_refused(first, last):
    with pytest.raises(FaultError, match="acts from step"):
        activate((FaultUse("mask-top-left", first, last),), 2)


def test_an_unknown_fault_is_refused():
    with pytest.raises(FaultError, match="'nothing-known' is not known"):
        activate((FaultUse("nothing-known"),), 2)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(
    ("fault_id", "healed"),
    [
        # Stored rows are spoiled for ever: by position, by what a wrong mask let the upper
        # layers store, by what was written over.
        ("pos-restart", False),
        ("mask-top-left", False),
        ("store-row-zero", False),
        ("mask-unwritten", False),
    ],
)
def test_the_damage_stays_after_a_fault_is_off(fault_id, healed, scheme):
    spec = spec_for(scheme, capacity=14, steps=5, faults=(FaultUse(fault_id, 2, 2),))
    verdicts = judged(spec)
    assert verdicts.wrong_steps[0] == 2
    assert (verdicts.logits[5] == "right") is healed
    assert verdicts.mechanism[0] == verdicts.mechanism[1] == "right"


@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_alias_let_go_of_shows_the_row_that_the_scratch_holds_now(scheme):
    spec = spec_for(scheme, capacity=14, steps=4, faults=(FaultUse("store-alias-in", 1, 1),))
    records = run(spec).records
    assert records[1].layers[0].row_token.tolist() == list(range(8))
    assert records[3].layers[0].row_token.tolist() == [0, 1, 2, 3, 4, 5, 6, 9, 8, 9]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_after_a_window_of_wrong_positions_their_rows_are_held_and_the_policy_stays_wrong(scheme):
    spec = spec_for(scheme, capacity=14, steps=5, faults=(FaultUse("pos-restart", 2, 3),))
    verdicts = judged(spec)
    assert verdicts.policy == ["right", "right", "wrong", "wrong", "wrong", "wrong"]
    # The new tokens are numbered rightly again; the logits are wrong because of those held.
    for step in (4, 5):
        assert verdicts.trace.records[step].position_ids == (7 + step - 1,)
        assert verdicts.mechanism[step] == "right"
        assert verdicts.logits[step] == "wrong"


@pytest.mark.parametrize("scheme", SCHEMES)
def test_wrong_positions_that_were_taken_back_leave_nothing_wrong_behind(scheme):
    prompt = (1, 2, 3)
    requests = (Prefill(prompt), Decode(), Rollback(1), Decode())
    use = FaultUse("pos-restart", 1, 1)
    verdicts = judged(
        spec_for(scheme, prompt_ids=prompt, capacity=9, requests=requests, faults=(use,))
    )
    assert verdicts.policy == ["right", "wrong", "right", "right"]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("layer", [0, 2, 3])
def test_a_fault_in_one_layer_differs_first_in_that_layer(scheme, layer):
    use = FaultUse("mask-top-left", layers=(layer,))
    verdicts = judged(spec_for(scheme, capacity=14, steps=2, faults=(use,)))
    assert verdicts.wrong_steps == [1, 2]
    difference = verdicts.verdicts[1].first_difference
    assert (difference.layer, difference.field) == (layer, "visible")
    for number, found in enumerate(verdicts.trace.records[1].layers):
        assert bool((found.weights[:, 0, 0] == 1.0).all()) is (number == layer)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_store_fault_in_one_layer_leaves_the_other_layers_rows_in_place(scheme):
    use = FaultUse("store-row-zero", layers=(1,))
    verdicts = judged(spec_for(scheme, capacity=14, steps=2, faults=(use,)))
    found = [layer.row_token.tolist() for layer in verdicts.trace.records[1].layers]
    right = list(range(8))
    assert found == [right, [7, *range(1, 7), -1], right, right]
    difference = verdicts.verdicts[1].first_difference
    assert (difference.layer, difference.field) == (1, "keys")


def test_every_fault_can_be_limited_in_time():
    for fault in FAULTS:
        at = activate((FaultUse(fault.id, 1, 2),), 2).tables()
        assert changed_seams(at(0)[0]) == ()
        assert changed_seams(at(1)[0]) == changed_seams(at(2)[0]) == (fault.seam,)
        assert changed_seams(at(3)[0]) == ()
