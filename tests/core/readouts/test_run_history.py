"""What is kept of a run answers as a walk over its records does, at every step."""

from hypothesis import given, settings
from hypothesis import strategies as st

from core.readouts.history import slot_history, text_after, token_numbers
from core.readouts.run_history import RunHistory
from core.record import StepRecord
from core.session import Session
from core.spec import RunSpec
from tests.core.properties.strategies import fault_uses, mixed_specs, plain_specs
from tests.helpers.runs import tiny


def recorded(spec: RunSpec) -> list[StepRecord]:
    return Session(spec, tiny(spec.model.removeprefix("tiny-"))).run().records


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
        slots, walked_slots = history.slots(step), slot_history(records, step)
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
