"""What attention keeps from one step looked at to the next never shows in what it says."""

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.judge import Judge
from core.readouts import attention_lines
from core.readouts.attention import ENLARGED_ROWS, attention_readout
from core.readouts.attention_image import Take
from core.readouts.attention_lines import KeptLines
from core.readouts.attention_texts import TextTakes
from core.readouts.history import computed_tokens, text_after
from core.readouts.mask import mask_readout
from core.readouts.next_token import next_token_readout
from core.readouts.run_history import RunHistory
from core.readouts.run_view import RunView
from core.readouts.words import places, ranges
from core.record import StepRecord
from core.selection import Selection
from core.session import Session
from core.spec import RunSpec
from tests.core.properties.strategies import fault_uses, mixed_specs, plain_specs
from tests.core.readouts.runs import LONG, PLAIN, SINKS, WINDOW, view_of, with_fault
from tests.helpers.runs import tiny

SPECS = mixed_specs("float32") | plain_specs("float32")


def walked(records: Sequence[StepRecord], step: int, most_rows: int) -> list[tuple[int, ...]]:
    """(step, first, stop) of the newest queries of a step's text, by a walk back over the run."""
    found: list[tuple[int, ...]] = []
    lowest = max(text_after(records, step), default=-1) + 1
    n_left, which = most_rows, records[step].request
    for at in range(step, -1, -1):
        record = records[at]
        if record.parents:
            which = record.parents[which]
            continue
        if record.request != which:
            continue
        tokens = computed_tokens(record)
        stop = min(lowest, tokens.stop) - tokens.start
        if stop > 0 and n_left > 0:
            found.append((record.step, max(0, stop - n_left), stop))
            n_left -= stop - max(0, stop - n_left)
            lowest = tokens.start
        if record.phase == "new_prompt" or lowest == 0 or n_left == 0:
            break
    return found[::-1]


@settings(max_examples=60, deadline=None)
@given(SPECS, st.randoms(use_true_random=False), st.integers(1, 12))
def test_the_queries_of_a_text_are_those_that_a_walk_over_the_run_finds(spec, rnd, most) -> None:
    records = Session(spec, tiny(spec.model.removeprefix("tiny-"))).run().records
    texts = TextTakes()
    steps = [*range(len(records))] * 2
    rnd.shuffle(steps)
    for step in steps:
        n_read = max(text_after(records, step), default=-1) + 1
        takes = texts.of(records, step, n_read, most)
        found = [(take.record.step, take.first, take.stop) for take in takes]
        assert found == walked(records, step, most)


@settings(max_examples=25, deadline=None)
@given(SPECS, st.just(()) | fault_uses(), st.randoms(use_true_random=False))
def test_after_any_jumps_a_readout_is_that_of_a_history_that_was_never_asked(
    spec, faults, rnd
) -> None:
    loaded = tiny(spec.model.removeprefix("tiny-"))
    trace = Session(replace(spec, faults=faults), loaded).run()
    verdicts = {verdict.step: verdict for verdict in Judge(trace, loaded).update()}
    records, config = tuple(trace.records), trace.model.config
    kept = RunHistory(records[:1])
    n_known = 1
    for _ in range(10):
        if rnd.random() < 0.5 and n_known < len(records):  # the run goes on meanwhile
            kept.extend(records[n_known : n_known + 2])
            n_known = min(n_known + 2, len(records))
        selection = Selection(
            step=rnd.randrange(n_known),
            layer=rnd.randrange(config.n_layers),
            head=rnd.randrange(config.n_heads),
            token_index=rnd.choice([None, 0, 5]),
        )
        verdicts_by_now = verdicts if rnd.random() < 0.7 else {}
        first, second = (
            RunView(
                spec=trace.spec,
                model=trace.model,
                records=records[:n_known],
                verdicts=verdicts_by_now,
                clean=(),
                token_text=str,
                selection=selection,
                history=history,
                clean_history=RunHistory(),
            )
            for history in (kept, RunHistory(records[:n_known]))
        )
        assert shown(first) == shown(second)


def shown(view: RunView) -> tuple[object, ...]:
    attention, mask = attention_readout(view), mask_readout(view)
    plain = [getattr(mask, field.name) for field in fields(mask) if field.name != "axis"]
    return (
        attention.queries,
        (attention.sentence, attention.n_now, attention.is_computed),
        attention.atlas.tolist(),
        [
            (tuple(g.columns), g.codes.tolist(), g.weights.tobytes(), told_keys(g))
            for g in (attention.by_token, attention.by_slot)
        ],
        [value.tolist() if isinstance(value, np.ndarray) else value for value in plain],
        repr(next_token_readout(view)),  # not itself: it may hold NaN, which equals nothing
    )


def told_keys(grid) -> list[object]:
    return [
        grid.key(row, column)
        for row in range(0, grid.n_rows, 3)
        for column in range(grid.n_columns)
    ]


@pytest.mark.parametrize(
    "spec", [PLAIN, WINDOW, SINKS, with_fault(SINKS, "mask-unwritten")], ids=lambda s: s.policy
)
def test_codes_of_some_columns_are_those_of_the_whole_image(spec: RunSpec) -> None:
    readout = attention_readout(view_of(spec, 3, layer=1, head=2))
    for grid in (readout.by_token, readout.by_slot):
        columns = np.arange(grid.n_columns)[::-2]
        assert np.array_equal(grid.codes_of(columns), grid.codes[:, columns])


def test_a_readout_stays_as_it_was_when_others_are_made_after_it() -> None:
    readout = attention_readout(view_of(LONG, 0))
    atlas = readout.atlas.tolist()
    for head in range(4):
        assert attention_readout(view_of(LONG, 0, head=head)).by_token.codes.any()
    weights = readout.by_token.weights
    assert readout.atlas.tolist() == atlas
    assert np.array_equal(readout.by_token.codes > 2, weights > 0)


# Lines by themselves


class Filler:
    """Writes step and row into a line, and counts the lines that it wrote."""

    def __init__(self) -> None:
        self.n_filled = 0

    def __call__(self, take: Take, codes: np.ndarray) -> None:
        self.n_filled += take.n_rows
        for i, row in enumerate(range(take.first, take.stop)):
            codes[i] = (take.record.step, row)


def lines_of(kept: KeptLines, takes: list[Take], fill: Filler, kind: str = "a") -> list[list[int]]:
    codes, which = kept.of(takes, kind, (2,), fill)
    return codes[which].tolist()


def test_a_line_is_made_once() -> None:
    record = view_of(LONG, 0).records[0]
    kept, fill = KeptLines(1000), Filler()
    assert lines_of(kept, [Take(record, 4, 8)], fill) == [[0, row] for row in range(4, 8)]
    assert lines_of(kept, [Take(record, 2, 10)], fill) == [[0, row] for row in range(2, 10)]
    assert lines_of(kept, [Take(record, 3, 9)], fill) == [[0, row] for row in range(3, 9)]
    assert fill.n_filled == 8


def test_lines_of_another_kind_are_made_anew() -> None:
    record = view_of(LONG, 0).records[0]
    kept, fill = KeptLines(1000), Filler()
    for kind in ("a", "b", "a"):
        assert lines_of(kept, [Take(record, 0, 3)], fill, kind) == [[0, 0], [0, 1], [0, 2]]
    assert fill.n_filled == 9


def test_no_more_lines_are_kept_than_there_is_room_for() -> None:
    record = view_of(LONG, 0).records[0]
    kept, fill = KeptLines(20), Filler()  # ten lines of two bytes
    for first in (0, 6, 12, 0, 90):
        expected = [[0, row] for row in range(first, first + 6)]
        assert lines_of(kept, [Take(record, first, first + 6)], fill) == expected
    codes, _ = kept.of([Take(record, 0, 6)], "a", (2,), fill)
    assert len(codes) == 10
    # More than that at once are all made.
    assert len(lines_of(kept, [Take(record, 0, ENLARGED_ROWS)], fill)) == ENLARGED_ROWS


def test_lines_that_were_handed_out_stay_as_they_were_when_others_need_their_room() -> None:
    record = view_of(LONG, 0).records[0]
    kept, fill = KeptLines(20), Filler()  # ten lines of two bytes
    handed_out = []
    for first in (0, 6, 12, 0, 90):
        lines = attention_lines.lines_of(
            *kept.of([Take(record, first, first + 6)], "a", (2,), fill)
        )
        handed_out.append((first, lines))
    for first, lines in handed_out:
        assert lines.tolist() == [[0, row] for row in range(first, first + 6)]


def test_places_are_said_as_their_numbers_are() -> None:
    for bits in range(2**7):
        is_told = np.array([bits >> place & 1 for place in range(7)], dtype=np.bool_)
        assert places(is_told) == ranges(np.flatnonzero(is_told).tolist())
