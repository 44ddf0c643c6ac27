"""The cells of the matrix, against runs made by hand."""

import math
from dataclasses import replace

import pytest

from core.errors import FaultError, ModelError, TraceError
from core.judge import Judge
from core.matrix import measured, prompts_for, tasks_of
from core.matrix_cell import Cell, Task
from core.matrix_file import read_matrix, short_line_of, start_file
from core.matrix_prompts import prompts_of
from core.matrix_runs import broken_spec
from core.model.loading import load_model
from core.session import Session
from core.spec import FaultUse, RunSpec
from resources import resource_path
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
    first_wrong, errors, n_same, chosen = [], [], 0, []
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
        bad = {v.step for v in verdicts if v.logits and v.logits.standing == "wrong"}
        if bad:  # no token of these runs is forced
            chosen.append(said[0] == said[1])
    cell = measured(Task(fault, "tiny-rope", policy, N, seed=4))
    assert (cell.n_runs, cell.n_shown, cell.n_same_text) == (N, len(first_wrong), n_same)
    assert (cell.n_chosen, cell.n_same_chosen) == (len(chosen), sum(chosen))
    middle = sorted(first_wrong)[(len(first_wrong) - 1) // 2] if first_wrong else None
    assert cell.first_wrong_step == middle
    assert cell.largest_error == max(errors)
    assert cell.n_questions == 0


def test_a_right_text_counts_for_nothing_where_only_forced_tokens_follow_wrong_logits():
    task = Task("mask-top-left", "learned", "reprefill", 2, 0)
    loaded = load_model("learned")
    for prompt in prompts_for(task):
        run = Session(broken_spec(task, prompt), loaded).run()
        verdicts = Judge(run, loaded).update()
        wrong = [v.step for v in verdicts if v.logits and v.logits.standing == "wrong"]
        assert wrong
        assert all(run.records[step].is_forced for step in wrong)
    cell = measured(task)
    assert (cell.n_shown, cell.n_same_text) == (2, 2)
    assert (cell.n_chosen, cell.n_same_chosen, cell.n_tried) == (0, 0, 0)


def test_a_text_that_ends_early_is_tried_though_no_logit_is_wrong():
    cell = measured(Task("cap-early", "learned", "refuse", 2, 0))
    assert (cell.first_wrong_logits, cell.n_chosen, cell.n_tried) == (None, 0, 2)


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
    spec = broken_spec(Task(fault, "learned", "refuse", 1, 2), prompt)
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


# The run that a cell stands for, and the file.


def test_the_prompt_of_a_cell_shows_its_first_wrong_step():
    task = Task("evict-before-attend", "learned", "window", 10, 0)
    cell = measured(task)
    assert cell.prompt > 0  # the runs with the first prompts show it earlier, or later
    prompt = prompts_for(task)[cell.prompt]
    run = Session(broken_spec(cell, prompt), load_model("learned")).run()
    wrong = [v.step for v in Judge(run, load_model("learned")).update() if v.is_wrong]
    assert wrong[0] == cell.first_wrong_step


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "cells"
    tasks = [
        Task("mask-nan-row", "tiny-rope", "refuse", 2, 0),
        Task("spec-short", "tiny-rope", "window", 2, 0),
    ]
    prompts = {"tiny-rope": prompts_for(tasks[0])}
    assert start_file(path, 2, 0, prompts) == ()
    cells = [measured(task) for task in tasks]
    with path.open("a", encoding="utf-8") as file:
        file.writelines(f"{short_line_of(cell)}\n" for cell in cells)
        file.write('{"kind": "cell", "fault": "cut o')
    found = read_matrix(path)
    assert (found.n_prompts, found.seed, found.prompts) == (2, 0, prompts)
    assert str(found.cells) == str(tuple(cells))  # NaN is not equal to itself
    assert found.prompt_of(found.cells[0]) == prompts["tiny-rope"][0]
    with pytest.raises(TraceError, match="prompt 0 of learned, only 0"):
        found.prompt_of(Cell("pos-restart", "learned", "learned", "refuse"))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"kind": "cell", "fault": "a", "model": "b", "scheme": "c", "policy": 1}', "policy is 1"),
        ('{"kind": "cell", "fault": "a", "model": "b", "scheme": "c"}', "line 2 is no cell"),
        ('{"kind": "prompts", "model": "b"}', "no list of prompts"),
        ('{"kind": "prompts", "model": "b", "prompts": [{"token_ids": ["x"]}]}', "line 2"),
        ("[]", "line 2 is no JSON object"),
    ],
)
def test_a_line_that_is_not_as_it_should_be_is_named(line, said, tmp_path):
    path = tmp_path / "cells"
    head = '{"kind": "matrix", "schema": 4, "prompts": 1, "seed": 0}'
    path.write_text(f"{head}\n{line}\n")
    with pytest.raises(TraceError, match=said):
        read_matrix(path)


@pytest.mark.parametrize(
    ("fault", "model", "policy"),
    [
        ("evict-newest", "tiny-rope", "window"),
        ("pos-memo", "tiny-alibi", "sinks"),
        ("mask-unwritten", "learned", "refuse"),
    ],
)
def test_the_shipped_measurement_says_what_is_measured_now(fault, model, policy):
    file = read_matrix(resource_path("matrix.jsonl"))
    task = Task(fault, model, policy, file.n_prompts, file.seed)
    now = measured(task)
    then = next(c for c in file.cells if (c.fault, c.model, c.policy) == (fault, model, policy))
    assert now.largest_error == pytest.approx(then.largest_error, rel=1e-3)
    assert replace(now, largest_error=0.0) == replace(then, largest_error=0.0)
    assert file.prompts[model] == prompts_for(task)
