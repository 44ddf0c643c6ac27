"""Which stored rows are not those that the reference computes."""

from dataclasses import replace

import numpy as np
import pytest

from core.arrays import ABSENT
from core.judge import Judge
from core.record import StepRecord
from core.spec import Decode, FaultUse, Prefill, Reorder, RunSpec
from core.trace import Trace
from core.tracefile import open_trace, save_trace
from core.verdict import OffRows
from tests.helpers.runs import SCHEMES, SEVEN_IDS, judged, run, spec_for, tiny

FAULTS = (
    "pos-restart",
    "mask-top-left",
    "mask-off-with-cache",
    "mask-unwritten",
    "store-row-zero",
    "store-alias-in",
    "store-first-lost",
    "evict-newest",
    "rope-on-read",
    "gqa-tile",
    "cap-early",
)
"""Faults of every kind; in some of them every stored row is right."""


def with_fault(scheme: str, fault_id: str) -> RunSpec:
    return spec_for(scheme, steps=5, capacity=12, faults=(FaultUse(fault_id),))


def read_rows(records: list[StepRecord], layer: int) -> list[dict[int, tuple[int, np.ndarray]]]:
    """By step: physical row to the token that was really there, and its bytes as read."""
    held: dict[int, np.ndarray] = {}
    found: list[dict[int, tuple[int, np.ndarray]]] = []
    for record in records:
        if record.layers:
            told = record.layers[layer]
            held |= {int(r): told.first_read.kv[:, :, i] for i, r in enumerate(told.first_read.row)}
            pairs = zip(told.plan.read_rows.tolist(), told.row_token.tolist(), strict=True)
            found.append({row: (token, held[row]) for row, token in pairs if token != ABSENT})
        else:
            found.append(found[-1])
    return found


def expanded(off: OffRows, layer: int) -> set[int]:
    return {row for first, end in (off[layer] if off else ()) for row in range(first, end)}


def clean_trace(faulty: Trace) -> Trace:
    """The same tokens, read by an engine without a fault."""
    read = [token for record in faulty.records[1:] for token in record.token_ids]
    return run(replace(faulty.spec, faults=(), force_ids=tuple(read)))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("fault_id", FAULTS)
def test_rows_are_off_where_an_engine_without_a_fault_stores_others(
    scheme: str, fault_id: str
) -> None:
    done = judged(with_fault(scheme, fault_id))
    clean = clean_trace(done.trace)
    for layer in range(tiny(scheme).config.n_layers):
        right: dict[int, np.ndarray] = {}
        for rows in read_rows(clean.records, layer):
            right |= dict(rows.values())
        read = read_rows(done.trace.records, layer)
        for record, verdict, rows in zip(done.trace.records, done.verdicts, read, strict=True):
            off = {
                row
                for row, (token, kv) in rows.items()
                if token in right and np.abs(kv - right[token]).max() > 1e-9
            }
            assert expanded(verdict.off_rows, layer) == off, (record.step, layer)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"policy": "window", "capacity": 8},
        {"policy": "sinks", "capacity": 8, "sinks": 2},
        {"policy": "reprefill", "capacity": 8},
        {"chunk": 3},
        {"dtype": "float32"},
        {"kv_dtype": "int8"},
    ],
)
def test_without_a_fault_no_row_is_off(scheme: str, settings: dict[str, object]) -> None:
    done = judged(spec_for(scheme, **{"steps": 8, "capacity": 16, **settings}))
    assert {verdict.off_rows for verdict in done.verdicts} == {()}


def test_a_row_stays_off_until_it_is_written_again() -> None:
    """Each key that was made at a wrong position stays in its row, whatever is read later."""
    done = judged(with_fault("learned", "pos-restart"))
    rows = [expanded(verdict.off_rows, 0) for verdict in done.verdicts]
    assert rows == [set(), {7}, {7, 8}, {7, 8, 9}, {7, 8, 9, 10}, {7, 8, 9, 10, 11}]


def test_judging_in_parts_finds_the_same_rows() -> None:
    trace = run(with_fault("learned", "mask-top-left"))
    whole, parts = Judge(trace, tiny("learned")), Judge(trace, tiny("learned"))
    whole.update()
    while parts.update(1):
        pass
    assert [v.off_rows for v in parts.verdicts] == [v.off_rows for v in whole.verdicts]
    assert whole.verdicts[-1].off_rows


def test_a_refused_step_tells_what_the_last_step_before_it_read() -> None:
    done = judged(spec_for("learned", steps=6, capacity=12, faults=(FaultUse("pos-restart"),)))
    assert not done.trace.records[-1].layers
    assert done.verdicts[-1].off_rows == done.verdicts[-2].off_rows != ()


def test_a_trace_file_keeps_them(tmp_path) -> None:
    done = judged(with_fault("learned", "mask-top-left"))
    path = tmp_path / "run.kvtrace"
    save_trace(path, done.trace, full=True, verdicts=done.verdicts)
    opened = [verdict.off_rows for verdict in open_trace(path).verdicts]
    assert opened == [verdict.off_rows for verdict in done.verdicts]


def test_a_damaged_row_goes_where_its_sequence_goes_in_a_reorder():
    prompt = Prefill(SEVEN_IDS)
    spec = spec_for(
        "rope",
        capacity=12,
        kv_dtype="int8",
        n_sequences=2,
        requests=(prompt, Decode(), Reorder((1, 0)), Decode()),
        faults=(FaultUse("quant-floor", first_step=2, last_step=2),),
    )
    found = judged(spec)
    assert [found.trace.records[step].request for step in (2, 3, 4, 5, 6)] == [0, 1, 0, 0, 1]
    damaged = ((7, 8),)
    layer_0 = [verdict.off_rows[0] if verdict.off_rows else () for verdict in found.verdicts]
    assert layer_0 == [(), (), damaged, (), (), (), damaged]
