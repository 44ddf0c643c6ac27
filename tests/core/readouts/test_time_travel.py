"""A step looked at later shows what it showed when it was the newest one."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from core.judge import Judge
from core.readouts.attention import attention_readout
from core.readouts.cache import cache_readout
from core.readouts.mask import mask_readout
from core.readouts.run_history import RunHistory
from core.readouts.run_view import RunView
from core.selection import Selection
from core.session import Session
from core.trace import Trace
from core.verdict import StepVerdict
from tests.core.properties.strategies import fault_uses, mixed_specs, plain_specs
from tests.helpers.runs import tiny


@settings(max_examples=25, deadline=None)
@given(
    mixed_specs("float32") | plain_specs("float32"),
    st.just(()) | fault_uses(),
    st.integers(0, 3),
)
def test_a_step_of_a_longer_run_shows_what_it_showed_as_the_newest(spec, faults, layer) -> None:
    loaded = tiny(spec.model.removeprefix("tiny-"))
    trace = Session(replace(spec, faults=faults), loaded).run()
    verdicts = {verdict.step: verdict for verdict in Judge(trace, loaded).update()}
    history = RunHistory(trace.records)
    for step in reversed(range(len(trace.records))):
        then = RunHistory(trace.records[: step + 1])
        assert shown(view_of(trace, step, layer, verdicts, history)) == shown(
            view_of(trace, step, layer, verdicts, then)
        )


def view_of(
    trace: Trace,
    step: int,
    layer: int,
    verdicts: Mapping[int, StepVerdict],
    history: RunHistory,
) -> RunView:
    """A step as the newest one, told by a history that may know more."""
    return RunView(
        spec=trace.spec,
        model=trace.model,
        records=tuple(trace.records[: step + 1]),
        verdicts=verdicts,
        clean=(),
        token_text=str,
        selection=Selection(step=step, layer=layer, head=1),
        history=history,
        clean_history=RunHistory(),
    )


def shown(view: RunView) -> tuple[object, ...]:
    cache, mask, attention = cache_readout(view), mask_readout(view), attention_readout(view)
    return (
        tuple(cache.labels),
        [(row.layers, row.state.tolist(), row.token_index.tolist()) for row in cache.rows],
        (cache.missing, cache.left, cache.sentence),
        (tuple(mask.columns), mask.queries, mask.used.tolist(), mask.sentence),
        attention.queries,
        attention.atlas.tolist(),
        [(tuple(g.columns), g.codes.tolist(), g.weights.tobytes()) for g in grids(attention)],
        attention.sentence,
    )


def grids(attention):
    return attention.by_token, attention.by_slot


def test_many_columns_are_pooled_to_the_highest_code_of_their_neighbours() -> None:
    from core.readouts.attention_image import ReadSpan, Take, weight_codes
    from core.readouts.attention_rows import AttentionRows
    from tests.core.readouts.runs import LONG, view_of

    record = view_of(LONG, 0).records[0]
    (groups,) = AttentionRows().all_heads(Take(record, 140, 144), 4)
    told = record.layers[0]
    codes = weight_codes(np.where(told.plan.mask, told.weights, -1.0))[:, 140:144]
    assert ReadSpan.of(told.plan).is_run
    for column in range(38):
        highest = codes[:, :, 4 * column : 4 * column + 4].max(axis=-1)
        assert np.array_equal(groups[0].codes[:, 0, :, column].T, highest)
