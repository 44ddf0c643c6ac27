from dataclasses import FrozenInstanceError, fields, is_dataclass, replace

import numpy as np
import pytest

from core.arrays import as_ids, frozen
from core.engine.types import Ledger
from core.outcome import OK, Refused
from core.record import LayerRecord, StepRecord
from core.session import Session
from core.spec import Decode, FaultUse, NewPrompt, Prefill, Probe, Rollback
from tests.helpers.engines import with_layer, with_record
from tests.helpers.runs import SCHEMES, SEVEN_IDS, run, spec_for, tiny

EVERYTHING = (Prefill(SEVEN_IDS), Decode(), Probe(1, 1), Rollback(1), NewPrompt((1, 2)), Decode())


def _arrays(value):
    """Every array inside a record, with a name."""
    if isinstance(value, np.ndarray):
        yield "array", value
    elif isinstance(value, tuple):
        for item in value:
            yield from _arrays(item)
    elif is_dataclass(value):
        for field in fields(value):
            for name, array in _arrays(getattr(value, field.name)):
                yield f"{field.name}.{name}", array


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"requests": EVERYTHING, "capacity": 12}, id="every request"),
        pytest.param({"policy": "window", "capacity": 4, "chunk": 3, "steps": 3}, id="window"),
        pytest.param({"policy": "reprefill", "capacity": 4, "steps": 3}, id="reprefill"),
        pytest.param({"faults": (FaultUse("interview-class"),), "capacity": 9}, id="faults"),
        pytest.param({"faults": (FaultUse("store-alias-in"),), "capacity": 12}, id="aliases"),
        pytest.param({"faults": (FaultUse("mask-top-left"),), "capacity": 12}, id="mask"),
        pytest.param({"faults": (FaultUse("pos-restart"),), "capacity": 12}, id="positions"),
        pytest.param({"faults": (FaultUse("store-row-zero"),), "capacity": 12}, id="row zero"),
        pytest.param({"dtype": "bfloat16", "steps": 2}, id="bfloat16"),
    ],
)
def test_every_array_of_a_record_is_read_only(scheme, settings):
    for record in run(spec_for(scheme, **settings)).records:
        for name, array in _arrays(record):
            assert not array.flags.writeable, name


@pytest.mark.parametrize("scheme", ["rope", "alibi"])
def test_every_array_of_a_record_with_reassigned_positions_is_read_only(scheme):
    spec = spec_for(
        scheme, policy="sinks", sinks=1, reassign_positions=True, capacity=4, steps=3, chunk=2
    )
    for record in run(spec).records:
        for name, array in _arrays(record):
            assert not array.flags.writeable, name


def test_a_record_and_its_layers_are_frozen():
    record = run(spec_for("rope", steps=0)).records[0]
    layer = record.layers[0]
    for value in (record, record.ledger, layer, layer.plan, layer.first_read, record.live[0]):
        for field in fields(value):
            with pytest.raises(FrozenInstanceError):
                setattr(value, field.name, None)


def test_logits_cannot_be_written():
    logits = run(spec_for("rope", steps=0)).records[0].logits
    assert logits is not None
    with pytest.raises(ValueError, match="read-only"):
        logits[0] = 1.0


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("fault", [None, "store-alias-in", "store-row-zero", "mask-unwritten"])
def test_a_record_is_not_changed_by_later_steps(scheme, fault):
    faults = (FaultUse(fault),) if fault else ()
    spec = spec_for(scheme, capacity=14, steps=5, faults=faults, dtype="float32")
    session = Session(spec, tiny(scheme))
    as_recorded = []
    while (record := session.advance()) is not None:
        as_recorded.append(record.digest())
    assert session.trace.digests() == as_recorded


def _record():
    return run(spec_for("rope", policy="window", capacity=5, steps=1, chunk=4)).records[-1]


def _other(value):
    """A different value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return value + "x"
    if isinstance(value, np.ndarray):
        if value.dtype == bool:
            return frozen(~value)
        return frozen(value + 1) if value.size else as_ids([1])
    if value is None:
        return 1
    if isinstance(value, tuple):
        return (*value[:-1], _other(value[-1])) if value else (1,)
    if value == OK:
        return Refused(1, 0)
    if is_dataclass(value):
        first = [f for f in fields(value) if f.metadata.get("in_digest") != "never"][-1].name
        return replace(value, **{first: _other(getattr(value, first))})
    raise TypeError(type(value))


@pytest.mark.parametrize("name", [field.name for field in fields(StepRecord)])
def test_a_change_of_any_field_changes_the_digest(name):
    record = _record()
    changed = replace(record, **{name: _other(getattr(record, name))})
    assert changed.digest() != record.digest()


@pytest.mark.parametrize("name", [field.name for field in fields(LayerRecord)])
@pytest.mark.parametrize("layer", [0, 3])
def test_a_change_in_any_layer_changes_the_digest(name, layer):
    trace = run(spec_for("rope", policy="window", capacity=5, steps=1, chunk=4))
    value = _other(getattr(trace.records[-1].layers[layer], name))
    step = len(trace.records) - 1
    changed = with_layer(trace, step, layer, **{name: value})
    assert changed.digests()[step] != trace.digests()[step]
    assert changed.digests()[:step] == trace.digests()[:step]


@pytest.mark.parametrize("name", [field.name for field in fields(Ledger)])
def test_a_change_of_the_ledger_changes_the_digest(name):
    record = _record()
    ledger = replace(record.ledger, **{name: _other(getattr(record.ledger, name))})
    is_memory = name == "recent"  # follows from the steps before
    assert (replace(record, ledger=ledger).digest() == record.digest()) == is_memory


def test_the_sign_of_a_zero_changes_the_digest():
    record = _record()
    zero, negative = frozen(np.zeros(3)), frozen(-np.zeros(3))
    assert replace(record, logits=zero).digest() != replace(record, logits=negative).digest()


def test_number_type_and_shape_are_part_of_the_digest():
    record = _record()
    zeros = np.zeros((2, 3))
    digests = {
        replace(record, logits=frozen(array)).digest()
        for array in (zeros, zeros.astype(np.float32), zeros.T.copy(), np.zeros(6))
    }
    assert len(digests) == 4


def test_a_number_that_moves_from_one_field_to_the_next_changes_the_digest():
    record = _record()
    one = replace(record, token_ids=(1, 2), token_index=(3,))
    other = replace(record, token_ids=(1,), token_index=(2, 3))
    assert one.digest() != other.digest()


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        ("token_ids", (1, 23), (12, 3)),
        ("token_ids", (1, 2, 3), (12, 3)),
        ("token_index", (10, 0), (1, 0, 0)),
        ("n_probed", (11, 1), (1, 11)),
    ],
)
def test_numbers_do_not_run_into_one_another_in_the_digest(name, one, other):
    record = _record()
    changed = {replace(record, **{name: value}).digest() for value in (one, other)}
    assert len(changed) == 2


def test_a_digit_that_moves_to_the_next_field_changes_the_digest():
    record = _record()
    one = replace(record, n_short=1, past_len=23)
    other = replace(record, n_short=12, past_len=3)
    assert one.digest() != other.digest()


def test_memory_layout_is_no_part_of_the_digest():
    trace = run(spec_for("rope", steps=0))
    scores = trace.records[0].layers[0].scores
    strided = np.empty((*scores.shape, 2))[..., 0]
    strided[:] = scores
    assert with_layer(trace, 0, 0, scores=frozen(strided)).digests() == trace.digests()


def test_not_a_number_equals_itself_in_the_digest():
    trace = run(spec_for("rope", steps=0))
    nan = frozen(np.full(4, np.nan))
    assert (
        with_record(trace, 0, logits=nan).digests()
        == with_record(trace, 0, logits=frozen(np.full(4, np.nan))).digests()
    )


def test_a_step_that_computed_nothing_has_no_position_ids():
    record = run(spec_for("rope", capacity=7, steps=1)).records[1]
    assert record.position_ids == ()
    assert not record.is_computed
