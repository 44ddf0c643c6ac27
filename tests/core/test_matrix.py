"""The cells of the matrix, against runs made by hand."""

import math

import pytest

from core.errors import FaultError, ModelError
from core.judge import Judge
from core.matrix import Task, broken_spec, measured, tasks_of
from core.matrix_prompts import prompts_of
from core.model.loading import load_model
from core.session import Session
from core.spec import FaultUse, RunSpec
from tests.helpers.runs import tiny

N = 3
BY_HAND = {
    ("pos-restart", "refuse"): {"capacity": 24, "steps": 17},
    ("pos-restart", "window"): {"capacity": 8, "steps": 17},
    ("pos-restart", "sinks"): {"capacity": 8, "steps": 17, "sinks": 2},
    ("evict-newest", "window"): {"capacity": 8, "steps": 17},
    ("evict-newest", "refuse"): {"capacity": 25, "steps": 17},
}


@pytest.mark.parametrize(("fault", "policy"), BY_HAND)
def test_a_cell_says_what_runs_by_hand_say(fault, policy):
    loaded = tiny("rope")
    first_wrong, errors, n_same = [], [], 0
    for prompt in prompts_of(loaded, N, seed=4):
        settings = {"policy": policy, **BY_HAND[fault, policy]}
        right = Session(RunSpec("tiny-rope", prompt.token_ids, **settings), loaded).run()
        spec = RunSpec("tiny-rope", prompt.token_ids, faults=(FaultUse(fault),), **settings)
        wrong = Session(spec, loaded).run()
        verdicts = Judge(wrong, loaded).update()
        first_wrong += [v.step for v in verdicts if v.is_wrong][:1]
        errors += [v.logits.max_abs_error for v in verdicts if v.logits]
        said = [[r.next_token for r in trace.records] for trace in (right, wrong)]
        n_same += said[0] == said[1]
    cell = measured(Task(fault, "tiny-rope", policy, N, seed=4))
    assert (cell.n_runs, cell.n_shown, cell.n_same_text) == (N, len(first_wrong), n_same)
    middle = sorted(first_wrong)[(len(first_wrong) - 1) // 2] if first_wrong else None
    assert cell.first_wrong_step == middle
    assert cell.largest_error == max(errors)
    assert cell.n_questions == 0


def test_a_scenario_that_does_not_go_with_a_policy_says_why():
    cell = measured(Task("spec-short", "tiny-alibi", "window", 1, 0))
    assert cell.why_not == "verifying drafts needs the policy refuse, not window"
    assert cell.n_runs == 0


def test_positions_cannot_be_assigned_again_where_they_are_learned():
    cell = measured(Task("pos-restart", "tiny-learned", "ranks", 1, 0))
    assert "positions cannot be re-assigned" in str(cell.why_not)


def test_a_fault_that_the_policy_never_asks_is_silent():
    cell = measured(Task("evict-newest", "tiny-rope", "refuse", 2, 0))
    assert (cell.n_shown, cell.first_wrong_step, cell.n_same_text) == (0, None, 2)


def test_logits_that_are_no_numbers_are_the_largest_error():
    assert math.isnan(measured(Task("mask-nan-row", "tiny-rope", "refuse", 2, 0)).largest_error)


def test_a_story_ends_in_a_question_whose_answer_it_holds():
    loaded = load_model("learned")
    for prompt in prompts_of(loaded, 6, seed=2):
        text = loaded.tokenizer.decode(prompt.token_ids + prompt.rest)
        assert text.endswith("?")
        assert prompt.answer in text
        assert len(prompt.rest) >= 4


@pytest.mark.parametrize(
    "fault", ["pos-restart", "store-stale-reset", "spec-short", "pos-pad-mixed"]
)
def test_the_question_is_read_in_the_scenario_of_the_fault(fault):
    loaded = load_model("learned")
    prompt = prompts_of(loaded, 1, seed=2)[0]
    spec = broken_spec(Task(fault, "learned", "refuse", 1, 2), prompt, loaded)
    right = Session(RunSpec(**{**_settings(spec), "faults": ()}), loaded).run()
    read = [r for r in right.records if r.is_computed]
    n = len(prompt.token_ids) + len(prompt.rest)
    asked = [r for r in read if n - 1 in r.token_index and r.token_ids[-1] == prompt.rest[-1]]
    assert asked
    told = {
        index: token for r in read for index, token in zip(r.token_index, r.token_ids, strict=False)
    }
    assert [told[i] for i in range(n)] == [*prompt.token_ids, *prompt.rest]
    assert measured(Task(fault, "learned", "refuse", 1, 2)).n_questions == 1


def _settings(spec: RunSpec) -> dict:
    return {name: getattr(spec, name) for name in RunSpec.__slots__}


def test_unknown_names_are_unusable():
    with pytest.raises(FaultError, match="no-such"):
        tasks_of(["no-such"], ["tiny-rope"], [], 1, 0)
    with pytest.raises(ModelError, match="no-such"):
        tasks_of(["pos-restart"], ["no-such"], [], 1, 0)


def test_a_run_whose_rows_double_in_every_step_is_stopped():
    cell = measured(Task("store-double-append", "tiny-rope", "sinks", 1, 0))
    assert (cell.n_shown, cell.n_same_text) == (1, 0)
