"""A packed record says what it said, and keeps nothing of the engine's memory."""

import numpy as np
import pytest

from core.blank_rows import rows_unwritten
from core.packing import packed
from core.spec import FaultUse
from core.trace import rows_as_read
from tests.helpers.runs import run, spec_for

SPECS = (
    spec_for("learned", steps=3, capacity=12),
    spec_for("rope", steps=4, capacity=8, policy="sinks", sinks=2, reassign_positions=True),
    spec_for("alibi", steps=3, capacity=8, policy="window", dtype="bfloat16"),
    spec_for("learned", steps=3, capacity=8, policy="reprefill", dtype="float32"),
    spec_for("learned", steps=3, capacity=12, faults=(FaultUse("store-alias-in"),)),
    spec_for("learned", steps=6, capacity=12),
)


@pytest.mark.parametrize("spec", SPECS)
def test_a_packed_record_has_the_same_digest_and_rows(spec) -> None:
    records = run(spec).records
    made = [packed(record) for record in records]
    assert [record.digest() for record in made] == [record.digest() for record in records]
    for step, record in enumerate(records):
        for layer, told in enumerate(record.layers):
            rows = rows_as_read(records, step, layer)
            assert np.array_equal(rows_as_read(made, step, layer), rows)
            unwritten = rows_unwritten(records, layer, told)
            assert np.array_equal(rows_unwritten(made, layer, made[step].layers[layer]), unwritten)


def test_no_array_of_a_packed_record_lies_in_the_engines_memory() -> None:
    record = run(SPECS[0]).records[1]
    made = packed(record)
    for told, was in zip(made.layers, record.layers, strict=True):
        for name in ("queries", "new_keys", "new_values", "scores", "weights", "residual"):
            assert not np.shares_memory(getattr(told, name), getattr(was, name))
            assert not getattr(told, name).flags.writeable
        assert np.shares_memory(told.new_keys, told.first_read.kv)


def test_a_refused_step_has_nothing_to_pack() -> None:
    refused = run(SPECS[5]).records[-1]
    assert packed(refused) is refused
