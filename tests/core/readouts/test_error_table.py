"""The largest error of every field in every layer, whichever comes first."""

import json
from dataclasses import replace

import numpy as np
import pytest

from core.arrays import frozen
from core.faults.catalog import FAULTS
from core.judge import Judge
from core.readouts.error_table import TENSORS, error_table, errors_json, table_lines
from core.spec import FaultUse
from core.trace import Trace
from core.verdict import FIELDS
from tests.helpers.engines import with_layer
from tests.helpers.runs import run, spec_for, tiny

STEP, LAYER = 3, 2


def _table(trace: Trace, step: int):
    spec = trace.spec
    judge = Judge(trace, tiny(spec.model.removeprefix("tiny-")))
    judge.update()
    detail = judge.detail(step)
    if detail is None:
        return judge, None
    return judge, error_table(trace.records, judge.verdicts[step], detail, spec.number_kind)


@pytest.fixture(scope="module")
def trace() -> Trace:
    """Chunks of 3, 3 and 1, then decodes, in a window that drops tokens from step 2 on."""
    return run(spec_for("rope", policy="window", capacity=6, chunk=3, steps=3))


def test_of_a_right_step_every_field_of_every_layer_is_within_its_band(trace):
    for step in range(len(trace.records)):
        _, table = _table(trace, step)
        assert tuple(table.cells) == TENSORS
        for cells in (*table.cells.values(), (table.logits,)):
            assert all(cell.error <= cell.band and not cell.is_off for cell in cells)
        assert table.cells["residual"][0].head is None
        assert {len(cells) for cells in table.cells.values()} == {4}


@pytest.mark.parametrize("field", ["scores", "weights", "output", "residual"])
def test_a_number_that_is_changed_shows_in_its_field_and_layer_alone_by_what_was_added(
    trace, field
):
    array = getattr(trace.records[STEP].layers[LAYER], field).copy()
    array[(1, 0, 2) if array.ndim == 3 else (0, 5)] += 0.25
    changed = with_layer(trace, STEP, LAYER, **{field: frozen(array)})
    _, table = _table(changed, STEP)
    off = {
        (name, layer): cell
        for name, cells in table.cells.items()
        for layer, cell in enumerate(cells)
        if cell.is_off
    }
    assert list(off) == [(field, LAYER)]
    assert off[field, LAYER].error == pytest.approx(0.25)
    assert off[field, LAYER].head == (1 if array.ndim == 3 else None)


def test_what_is_no_number_comes_before_all_errors(trace):
    array = trace.records[STEP].layers[LAYER].output.copy()
    array[0, 3], array[0, 4] = 1e6, np.nan
    _, table = _table(with_layer(trace, STEP, LAYER, output=frozen(array)), STEP)
    assert np.isnan(table.cells["output"][LAYER].error)
    assert '"nan"' in json.dumps(errors_json(table)["output"])


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_the_first_cell_that_is_off_is_the_first_difference_of_the_step(fault):
    spec = fault.shows_in.spec(lambda text: tuple(text.encode()))
    scheme = fault.shows_in.model.removeprefix("tiny-")
    spec = replace(spec, model=f"tiny-{scheme}", force_ids=(), faults=(FaultUse(fault.id),))
    trace = run(spec, tiny(scheme))
    for step in range(len(trace.records)):
        judge, table = _table(trace, step)
        first = judge.verdicts[step].first_difference
        if table is None or first is None or first.layer is None or first.error is None:
            continue
        cell = table.cells[first.field][first.layer]
        assert cell.is_off
        assert cell.error >= first.error * (1 - 1e-9) or np.isnan(cell.error)
        for field, cells in table.cells.items():
            for layer, earlier in enumerate(cells):
                is_before = (layer, FIELDS.index(field)) < (first.layer, FIELDS.index(first.field))
                assert not (is_before and earlier is not None and earlier.is_off)


def test_a_refused_step_has_no_table():
    trace = run(spec_for("rope", capacity=7, steps=1))
    judge, table = _table(trace, 1)
    assert table is None
    assert judge.detail(1) is None


def test_the_lines_name_layers_and_fields_and_mark_what_is_off(trace):
    array = trace.records[STEP].layers[LAYER].residual.copy()
    array[0, 5] += 0.25
    _, table = _table(with_layer(trace, STEP, LAYER, residual=frozen(array)), STEP)
    lines = list(table_lines(table))
    assert lines[0].startswith(f"Largest errors in step {STEP}, by layer")
    assert lines[1].split() == "layer 0 layer 1 layer 2 layer 3".split()
    assert [line.split()[0] for line in lines[2:]] == [*TENSORS, "logits"]
    starred = [line.split()[0] for line in lines[2:] if "*" in line]
    assert starred == ["residual"]
    assert lines[8].split()[3] == "2.5e-01*"
