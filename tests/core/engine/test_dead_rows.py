"""In a poisoned run, whoever reads a dead row gets what cannot be overlooked."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from core.arrays import ABSENT, as_ids
from core.blank_rows import POISON_VALUE, holds_nothing, is_poison
from core.engine.dead_rows import LeftAlone, Poisoned
from core.engine.rows import LayerRows, RowStore
from core.engine.seams import CORRECT, causal_mask, grow
from core.engine.types import Ledger
from core.faults.catalog import FAULTS
from core.session import Session
from core.spec import Decode, FaultUse, NewPrompt, Prefill, Rollback
from tests.helpers.runs import SCHEMES, SEVEN_IDS, run, spec_for, tiny


def _store(dead=None, n_rows=6, first_rows=None, dtype=torch.float32):
    like = torch.empty(0, dtype=dtype)
    return RowStore.allocate(2, 2, n_rows, 4, like, first_rows=first_rows, dead=dead)


def _is_poisoned(rows: LayerRows) -> list[bool]:
    return [is_poison(rows.kv[:, :, row].float().numpy()) for row in range(rows.n_allocated)]


def _holding(*slots: int) -> Ledger:
    none = as_ids([ABSENT] * len(slots))
    return replace(Ledger(6).with_rows(as_ids(slots), none, none, none), length=len(slots))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
def test_new_memory_is_poison_in_every_number_type(dtype):
    for rows in _store(Poisoned(), dtype=dtype).layers:
        assert _is_poisoned(rows) == [True] * 6
        assert rows.kv[0].isnan().all()
        assert (rows.kv[1] == POISON_VALUE).all()


def test_memory_is_zero_where_nobody_asked_for_poison():
    for dead in (None, LeftAlone()):
        assert not any(rows.kv.any() for rows in _store(dead).layers)


def test_what_a_buffer_grows_by_is_poison_and_what_it_held_stays():
    store = _store(Poisoned(), n_rows=8, first_rows=2)
    ones = torch.ones(2, 2, 4)
    for rows in store.layers:
        rows.write(as_ids([0, 1]), ones, ones)
    store.reach(3, [grow, grow])
    for rows in store.layers:
        assert _is_poisoned(rows) == [False, False, True, True]
        assert (rows.kv[:, :, :2] == 1).all()


def test_only_the_rows_that_a_ledger_counts_are_spared():
    store = _store(Poisoned())
    ones = torch.ones(2, 6, 4)
    for rows in store.layers:
        rows.write(as_ids(range(6)), ones, ones)
    store.dead.let_go(store.layers, _holding(1, 4), [CORRECT, CORRECT])
    for rows in store.layers:
        assert _is_poisoned(rows) == [True, False, True, True, False, True]


def test_a_borrowed_row_that_is_let_go_is_borrowed_no_longer():
    rows = _store(Poisoned()).layers[0]
    rows.borrow(2, torch.ones(2, 4), torch.ones(2, 4))
    Poisoned().let_go([rows], _holding(), [CORRECT])
    assert is_poison(rows.read(slice(2, 3))[:, :, 0].numpy())


def test_zeros_and_poison_hold_nothing_and_a_row_of_other_nan_does():
    assert holds_nothing(np.zeros((2, 2, 4)))
    row = np.full((2, 2, 4), np.nan)
    assert not holds_nothing(row)
    row[1] = POISON_VALUE
    assert holds_nothing(row)


REVEALED = {
    "pos-hole", "mask-unwritten", "ring-start", "store-row-zero", "store-write-lost",
    "store-first-lost", "store-uneven",
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_poison_changes_just_the_faults_that_read_what_the_ledger_does_not_hold(fault):
    scheme = fault.shows_in.model.removeprefix("tiny-")
    loaded = tiny(scheme)
    spec = fault.shows_in.spec(lambda text: tuple(text.encode()))
    spec = replace(spec, model=f"tiny-{scheme}", force_ids=(), faults=(FaultUse(fault.id),))
    plain, poisoned = run(spec, loaded), run(replace(spec, poison=True), loaded)
    assert (plain.digests() != poisoned.digests()) == (fault.id in REVEALED)
    if fault.id in REVEALED:
        # A value alone that is poison (store-uneven) leaves the logits finite: a norm follows.
        assert _largest_output(poisoned) > 100 * _largest_output(plain)


def _largest_output(trace) -> float:
    """Of attention; what is no number counts as infinite."""
    outputs = [layer.output for record in trace.records for layer in record.layers]
    return max(float(np.nan_to_num(np.abs(output), nan=np.inf).max()) for output in outputs)


def _computed(trace):
    return [record for record in trace.records if record.logits is not None]


REQUESTS = {
    "an eviction": {"policy": "window", "capacity": 8, "steps": 4},
    "a new start": {"policy": "reprefill", "capacity": 8, "steps": 4},
    "a rollback": {
        "capacity": 16,
        "requests": (Prefill(SEVEN_IDS), Decode(), Decode(), Rollback(2), Decode()),
    },
    "a new prompt": {
        "capacity": 16,
        "requests": (Prefill(SEVEN_IDS), Decode(), NewPrompt((9, 8)), Decode()),
    },
}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("asked", REQUESTS.values(), ids=REQUESTS)
def test_a_buffer_read_whole_with_its_dead_rows_hidden_gives_the_same_logits_with_poison(
    scheme, asked
):
    """Hidden rows leave no trace: their values are counted zero times, and so must be finite."""

    def whole(ledger: Ledger):
        n_rows = ledger.capacity + (7 if asked.get("policy") == "window" else 0)
        return np.arange(n_rows)

    def hiding(query, key, readable):
        return causal_mask(query, key, readable) & (key != ABSENT)

    def adapt(seams):
        return replace(seams, kv_view=whole, causal_mask=hiding)

    spec = spec_for(scheme, **asked)
    plain = Session(spec, tiny(scheme), adapt=adapt).run()
    poisoned = Session(replace(spec, poison=True), tiny(scheme), adapt=adapt).run()
    assert any(is_poison_read(record) for record in poisoned.records)
    for mine, other in zip(_computed(poisoned), _computed(plain), strict=True):
        assert np.array_equal(mine.logits, other.logits)


def is_poison_read(record) -> bool:
    """Whether a step read a key that is no number."""
    return any(np.isnan(layer.scores).any() for layer in record.layers)


def test_a_row_that_was_taken_back_is_poison_from_the_next_step_on():
    """All nine rows were written; the ninth was taken back, and one step reads it all the same."""
    requests = (Prefill(SEVEN_IDS), Decode(), Decode(), Rollback(2), Decode())
    late = (FaultUse("mask-unwritten", first_step=4),)
    spec = spec_for("learned", capacity=9, requests=requests, faults=late)
    assert np.isfinite(run(spec).records[4].logits).all()
    assert np.isnan(run(replace(spec, poison=True)).records[4].logits).all()
