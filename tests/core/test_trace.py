"""Rows as attention read them, put together from what the records keep."""

from dataclasses import replace

import numpy as np
import pytest

from core.engine.recorder import Recorder
from core.engine.seams import CORRECT
from core.session import Session
from core.spec import Decode, FaultUse, NewPrompt, Prefill, Probe, Rollback
from core.trace import rows_as_read
from tests.helpers.engines import run_by_hand
from tests.helpers.runs import SCHEMES, SEVEN_IDS, run, spec_for, tiny


class Spy(Recorder):
    """A recorder that also copies every row as it comes back from the buffer."""

    def __init__(self, store):
        super().__init__(store)
        self.copies = {}
        self.now = 0

    def begin(self, step, tokens, plans):
        self.now = step
        super().begin(step, tokens, plans)

    def was_read(self, layer, plan, rows, read):
        self.copies[self.now, layer] = read.double().numpy().copy()
        super().was_read(layer, plan, rows, read)


def _spied(spec):
    """The trace of a run, and plain copies of what each layer of each step read."""
    spies = []

    def make(store):
        spies.append(Spy(store))
        return spies[0]

    loaded = tiny(spec.model.removeprefix("tiny-"))
    return Session(spec, loaded, make).run(), spies[0].copies


def _are_rows_as_copied(spec):
    trace, copies = _spied(spec)
    assert copies
    for (step, layer), copied in copies.items():
        read = rows_as_read(trace.records, step, layer)
        assert read.shape == copied.shape
        assert np.array_equal(read.astype(np.float64), copied)


POLICIES = {
    "refuse": {"capacity": 14},
    "chunks": {"capacity": 14, "chunk": 3},
    "window": {"policy": "window", "capacity": 5, "chunk": 3},
    "window of one": {"policy": "window", "capacity": 1},
    "sinks": {"policy": "sinks", "sinks": 2, "capacity": 5, "chunk": 4},
    "reprefill": {"policy": "reprefill", "capacity": 5, "chunk": 3},
    "requests": {
        "capacity": 14,
        "requests": (
            Prefill(SEVEN_IDS), Decode(), Rollback(3), Decode(), Decode(), NewPrompt((1, 2)),
            Decode(), Rollback(2), Prefill((9, 8, 7)), Decode(),
        ),
    },
}  # fmt: skip
FAULTS = {
    "alias-in": (FaultUse("store-alias-in"),),
    "alias-in for a while": (FaultUse("store-alias-in", 1, 3),),
    "alias-in in one layer": (FaultUse("store-alias-in", layers=(2,)),),
    "row-zero": (FaultUse("store-row-zero"),),
    "row-zero for a while": (FaultUse("store-row-zero", 2, 3),),
    "unwritten": (FaultUse("mask-unwritten"),),
    "row-zero of the whole buffer": (FaultUse("store-row-zero"), FaultUse("mask-unwritten")),
}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("settings", POLICIES.values(), ids=POLICIES)
def test_rows_as_read_are_what_the_buffer_gave_back(settings, scheme):
    _are_rows_as_copied(spec_for(scheme, **{"steps": 5, **settings}))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS)
def test_rows_as_read_are_what_a_broken_buffer_gave_back(faults, scheme):
    _are_rows_as_copied(spec_for(scheme, capacity=14, steps=5, chunk=4, faults=faults))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS)
def test_rows_as_read_are_found_in_a_window_whose_slots_wrapped_round(faults, scheme):
    spec = spec_for(
        scheme, policy="window", capacity=4, steps=9, prompt_ids=(1, 2, 3), faults=faults
    )
    _are_rows_as_copied(spec)


def test_rows_that_changed_out_of_order_are_still_told_apart():
    def backwards(ledger):
        return ledger.counted_slots[::-1].copy()

    def one_place_on(rows, write_rows, keys, values):
        rows.write((write_rows + 1) % 8, keys, values)

    spies = []

    def make(store):
        spies.append(Spy(store))
        return spies[0]

    rules = replace(CORRECT, kv_view=backwards, store=one_place_on)
    records = run_by_hand(spec_for("rope", capacity=8), seams=rules, make_witness=make).records
    for (step, layer), copied in spies[0].copies.items():
        assert np.array_equal(rows_as_read(records, step, layer), copied)


@pytest.mark.parametrize("scheme", ["rope", "alibi"])
def test_rows_as_read_are_unrotated_where_positions_are_reassigned(scheme):
    spec = spec_for(
        scheme, policy="sinks", sinks=1, reassign_positions=True, capacity=4, steps=4, chunk=3
    )
    _are_rows_as_copied(spec)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("policy", ["window", "refuse"])
@pytest.mark.parametrize("fault", ["store-row-zero", "store-alias-in", "mask-unwritten"])
def test_rows_as_read_survive_rollbacks_on_a_broken_buffer(fault, policy, scheme):
    back = Rollback(2), Decode(), NewPrompt((4, 5)), Decode()
    requests = (Prefill(SEVEN_IDS), *[Decode()] * 3, *back)
    capacity = 12 if policy == "refuse" else 9
    spec = spec_for(
        scheme, policy=policy, capacity=capacity, requests=requests, faults=(FaultUse(fault),)
    )
    _are_rows_as_copied(spec)


def test_the_rows_of_a_probe_are_among_those_read():
    spec = spec_for(
        "rope", capacity=14,
        requests=(Prefill((1, 2)), Probe(2, 2), Decode(), Decode(), Rollback(1), Decode()),
    )  # fmt: skip
    _are_rows_as_copied(spec)


def test_the_value_row_that_was_never_written_is_zero():
    spec = spec_for(
        "rope", capacity=14, requests=(Prefill((1, 2)), Probe(2, 1), Decode(), Decode()),
        faults=(FaultUse("store-uneven"),),
    )  # fmt: skip
    _are_rows_as_copied(spec)
    assert not rows_as_read(run(spec).records, 2, 0)[1, :, 3].any()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_rows_as_read_are_the_same_numbers_in_every_number_type(dtype):
    _are_rows_as_copied(
        spec_for("rope", capacity=14, steps=4, dtype=dtype, faults=(FaultUse("store-alias-in"),))
    )


def test_rows_as_read_are_read_only():
    records = run(spec_for("rope", steps=1)).records
    assert not rows_as_read(records, 1, 0).flags.writeable


@pytest.mark.parametrize("scheme", SCHEMES)
def test_each_row_is_kept_once_while_its_bytes_stay(scheme):
    records = run(spec_for(scheme, capacity=14, steps=5)).records
    n_kept = [record.layers[0].first_read.kv.shape[2] for record in records]
    assert n_kept == [7, 1, 1, 1, 1, 1]


def test_digests_stand_in_step_order():
    trace = run(spec_for("rope", steps=2))
    assert trace.digests() == [record.digest() for record in trace.records]
    assert len(set(trace.digests())) == 3
