"""The run that the window opens with: what is in its file, and that the engine still makes it."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from app.first_run import START_FILE, answer_selection, first_run
from core.faults.catalog import find_faults
from core.faults.scenarios import ANSWER_SOURCE, ANSWER_STEP, FILLING, SEVEN_TOKENS
from core.model.loading import load_model
from core.outcome import OK, Refused
from core.session import Session
from core.spec import FaultUse
from core.tolerance import logits_band
from core.trace_rerun import rerun
from core.tracefile import open_trace
from tests.helpers.runs import judged

EARLY = ("mask-top-left", "pos-restart", "mask-unwritten", "store-row-zero")


@pytest.fixture(scope="module")
def shown():
    made = first_run()
    assert made is not None
    return made


@pytest.fixture(scope="module")
def loaded():
    return load_model(FILLING.model)


def test_it_is_read_without_torch_and_without_a_window():
    code = (
        "import sys; from app.first_run import first_run; "
        "run = first_run(); print(len(run.held.records), len(run.held.verdicts)); "
        "print([name for name in ('torch', 'PySide6.QtWidgets') if name in sys.modules])"
    )
    done = subprocess.run(  # noqa: S603  (our own interpreter and our own words)
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=True
    )
    assert done.stdout.splitlines() == ["7 7", "[]"]


def test_it_is_a_prompt_of_seven_tokens_five_decodes_and_one_refused(shown):
    records = shown.held.records
    assert [record.phase for record in records] == ["prefill"] + ["decode"] * 6
    assert [record.outcome for record in records] == [OK] * 6 + [Refused(needed=1, free=0)]
    assert records[0].token_index == (0, 1, 2, 3, 4, 5, 6)
    assert records[1].token_index == records[1].position_ids == (7,)
    assert [record.is_forced for record in records] == [True] * 3 + [False] * 4
    assert shown.held.end == "refused"


def test_it_asks_and_answers(shown):
    text = shown.held.started.token_text
    read = [text(token) for record in shown.held.records[:4] for token in record.token_ids]
    answer = text(shown.held.records[ANSWER_STEP].predicted)
    assert "".join(read).replace("·", " ") == SEVEN_TOKENS + FILLING.rest
    assert answer == read[ANSWER_SOURCE]
    assert ANSWER_SOURCE > 0


def test_nothing_is_wrong_in_it(shown):
    verdicts = shown.held.verdicts
    assert sorted(verdicts) == list(range(7))
    assert [step for step, verdict in verdicts.items() if verdict.is_wrong] == []
    assert all(verdict.logits.standing == "right" for verdict in list(verdicts.values())[:6])


def test_it_opens_at_the_answer_on_the_head_that_looks_at_its_source_most(shown):
    at = shown.held.selection
    assert (at.step, at.token_index, at.slot) == (ANSWER_STEP, ANSWER_SOURCE, ANSWER_SOURCE)
    layers = shown.held.records[ANSWER_STEP].layers
    weight = layers[at.layer].weights[at.head, -1, ANSWER_SOURCE]
    assert weight == max(layer.weights[:, -1, ANSWER_SOURCE].max() for layer in layers)
    assert weight > 0.5
    assert layers[at.layer].plan.view_slots[ANSWER_SOURCE] == ANSWER_SOURCE


def test_the_file_is_of_the_run_that_the_form_says(shown, loaded):
    spec = shown.draft.spec(loaded.tokenizer.encode)
    assert spec == shown.held.spec == FILLING.spec(loaded.tokenizer.encode)


def test_the_engine_makes_the_same_run_again(loaded):
    opened = open_trace(START_FILE)
    again = rerun(opened, loaded)
    assert again.agreement in ("identical", "within the band")
    for before, after in zip(opened.trace.records, again.trace.records, strict=True):
        assert before.token_ids == after.token_ids
        assert before.next_token == after.next_token
        if before.logits is not None:
            band = logits_band(opened.spec.dtype, after.logits)
            np.testing.assert_allclose(before.logits, after.logits, rtol=0, atol=band)


@pytest.mark.parametrize("fault_id", EARLY)
def test_the_answer_is_wrong_under_every_fault_that_acts_before_it(shown, loaded, fault_id):
    spec = replace(shown.held.spec, faults=(FaultUse(fault_id),))
    records = Session(spec, loaded).run().records
    right = shown.held.records[ANSWER_STEP].predicted
    assert records[ANSWER_STEP].predicted != right
    assert records[ANSWER_STEP].token_index == shown.held.records[ANSWER_STEP].token_index


@pytest.mark.parametrize(
    ("fault_id", "step"),
    [
        ("mask-top-left", 1), ("pos-restart", 1), ("mask-unwritten", 0),
        ("store-row-zero", 1), ("cap-early", 5), ("cap-counter-first", 6),
    ],
)  # fmt: skip
def test_each_fault_shows_first_at_its_step_of_this_run(shown, loaded, fault_id, step):
    assert find_faults(fault_id)
    spec = replace(shown.held.spec, faults=(FaultUse(fault_id),))
    assert judged(spec, loaded).wrong_steps[0] == step


def test_the_head_is_the_one_with_the_most_weight(shown):
    records = shown.held.records
    layer = records[ANSWER_STEP].layers[3]
    weights = layer.weights.copy()
    weights[1, -1, ANSWER_SOURCE] = 2.0
    layers = (*records[ANSWER_STEP].layers[:3], replace(layer, weights=weights))
    changed = list(records)
    changed[ANSWER_STEP] = replace(records[ANSWER_STEP], layers=layers)
    at = answer_selection(tuple(changed))
    assert (at.layer, at.head) == (3, 1)
