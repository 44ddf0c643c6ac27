"""Every fault, in the scenario that shows it: the stages agree with the verdicts."""

import pytest

from core.faults.catalog import FAULTS
from core.readouts.first_difference import first_difference_words
from core.readouts.spread import INTEGER_STAGES, spread_column
from core.spec import FaultUse
from tests.helpers.runs import Judged, judged
from tests.helpers.scenarios import scenario_spec

BY_ID = {fault.id: fault for fault in FAULTS}


def shown(fault_id: str) -> Judged:
    fault = BY_ID[fault_id]
    return judged(scenario_spec(fault.shows_in, fault.schemes[-1], FaultUse(fault_id)))


@pytest.mark.parametrize("fault_id", BY_ID)
def test_a_stage_is_wrong_in_each_step_that_is_wrong_and_in_no_other(fault_id: str) -> None:
    run = shown(fault_id)
    for record, verdict in zip(run.trace.records, run.verdicts, strict=True):
        column = spread_column(record, verdict)
        assert (column.first_wrong is not None) == verdict.is_wrong
        if verdict.is_wrong:
            words = first_difference_words(record, verdict)
            assert words.startswith(f"step {record.step}: ")
            assert "nan" not in words


@pytest.mark.parametrize(
    ("fault_id", "stage", "words"),
    [
        (
            "pos-layer-counter",
            "positions",
            "step 1: keys, layer 1, head 0: the key of token 7 was rotated at position 8, not 7",
        ),
        (
            "ring-start",
            "mask",
            "step 1: keys, layer 0: tokens 6, 7 should be read, "
            "and are not among the rows that are",
        ),
        (
            "store-write-lost",
            "slots",
            "step 0: keys, layer 0, head 0: slot 0 stands for token 0 and holds the row of no "
            "token; 6 more rows likewise",
        ),
    ],
)
def test_the_first_wrong_stage_is_told_by_what_is_seen_there(
    fault_id: str, stage: str, words: str
) -> None:
    run = shown(fault_id)
    first = run.wrong_steps[0]
    record, verdict = run.trace.records[first], run.verdicts[first]
    assert spread_column(record, verdict).first_wrong == INTEGER_STAGES.index(stage)
    assert first_difference_words(record, verdict) == words
