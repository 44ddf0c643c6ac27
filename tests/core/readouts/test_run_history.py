"""What is kept of a run answers as a walk over its records does, at every step."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from core.arrays import ABSENT
from core.readouts.history import SlotHistory, text_after, token_numbers
from core.readouts.run_history import RunHistory
from core.record import StepRecord
from core.session import Session
from core.spec import RunSpec
from tests.core.properties.strategies import fault_uses, mixed_specs, plain_specs
from tests.helpers.runs import tiny


def recorded(spec: RunSpec) -> list[StepRecord]:
    return Session(spec, tiny(spec.model.removeprefix("tiny-"))).run().records


def walked_slots_of(records: Sequence[StepRecord], step: int) -> SlotHistory:
    """The slots used by the steps up to `step`, and those that they counted, by a walk."""
    capacity = records[step].ledger.capacity
    used = [(record.step, record.slots) for record in records[: step + 1] if len(record.slots)]
    all_slots = np.concatenate([np.empty(0, dtype=np.int64), *(slots for _, slots in used)])
    by_step = np.repeat([at for at, _ in used], [len(slots) for _, slots in used]).astype(np.int64)
    counted = records[step].ledger.counted_slots
    n_slots = 1 + max(capacity - 1, int(all_slots.max(initial=-1)), int(counted.max(initial=-1)))
    first_step = np.full(n_slots, ABSENT, dtype=np.int64)
    first_step[all_slots[::-1]] = by_step[::-1]  # of several, the earliest is assigned last
    return SlotHistory(n_slots, first_step)


@st.composite
def runs(draw: st.DrawFn) -> list[StepRecord]:
    spec = draw(mixed_specs("float32") | plain_specs("float32"))
    from dataclasses import replace

    return recorded(replace(spec, faults=draw(st.just(()) | fault_uses())))


@settings(max_examples=60, deadline=None)
@given(runs())
def test_every_answer_is_that_of_a_walk_over_the_records(records: list[StepRecord]) -> None:
    history = RunHistory(records)
    for step in range(len(records)):
        text, walked = history.text(step), text_after(records, step)
        assert dict(text.items()) == walked
        assert text.end == max(walked, default=-1) + 1
        slots, walked_slots = history.slots(step), walked_slots_of(records, step)
        assert slots.first_step.tolist() == walked_slots.first_step.tolist()
        find, walk = history.numbers(step), token_numbers(records, step)
        tokens = [None, *range(records[step].ledger.seen + 3)]
        assert [find(token) for token in tokens] == [walk(token) for token in tokens]


@settings(max_examples=40, deadline=None)
@given(runs())
def test_what_is_said_of_a_step_stays_when_the_run_goes_on(records: list[StepRecord]) -> None:
    history = RunHistory()
    for step, record in enumerate(records):
        history.extend([record])
        short = RunHistory(records[: step + 1])
        assert dict(history.text(step).items()) == dict(short.text(step).items())
    for step in range(len(records)):
        short = RunHistory(records[: step + 1])
        assert dict(history.text(step).items()) == dict(short.text(step).items())
        assert history.slots(step).first_step.tolist() == short.slots(step).first_step.tolist()


@settings(max_examples=30, deadline=None)
@given(runs())
def test_the_version_last_read_is_that_of_a_walk(records: list[StepRecord]) -> None:
    history = RunHistory(records)
    for step in range(len(records)):
        for layer, live in enumerate(records[step].live):
            for row in live.row.tolist():
                walked = version_last_read(records[: step + 1], layer, row)
                assert history.rows_read.version(step, layer, row) == walked


def version_last_read(records: list[StepRecord], layer: int, row: int) -> int | None:
    for record in reversed(records):
        if record.layers:
            told = record.layers[layer]
            versions = dict(
                zip(told.plan.read_rows.tolist(), told.row_version.tolist(), strict=True)
            )
            if row in versions:
                return versions[row]
    return None
