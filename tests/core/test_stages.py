"""How each step stands at each stage: against tables made by hand, and a forward in one piece."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from core.judge import Judge
from core.reference import Passage, Reference
from core.session import Session
from core.spec import FaultUse, NewPrompt, Prefill
from core.tolerance import field_band
from core.trace import Trace
from core.trace_container import read_container, write_container
from core.tracefile import open_trace, save_trace
from core.verdict import StepVerdict
from tests.core.readouts import runs
from tests.helpers.runs import SEVEN_IDS, judge_again, judged, run, spec_for, tiny

RIGHT, WRONG, NONE = "right", "wrong", "none"


def stands(verdict: StepVerdict) -> tuple[str, ...]:
    """Admission, positions, slots, mask, layers as one: wrong where any is beyond its band."""
    stages = verdict.stages
    assert stages is not None
    answers = [stages.admission, stages.positions, stages.slots, stages.mask]
    words = [NONE if a is None else RIGHT if a else WRONG for a in answers]
    return (*words, WRONG if beyond(verdict) else NONE if stages.layer_errors is None else RIGHT)


def beyond(verdict: StepVerdict) -> list[int]:
    """The layers whose residual is beyond its band."""
    stages = verdict.stages
    assert stages is not None
    pairs = zip(stages.layer_errors or (), stages.layer_bands or (), strict=True)
    return [layer for layer, (error, band) in enumerate(pairs) if not error <= band]


PLAIN = (RIGHT, RIGHT, RIGHT, RIGHT, RIGHT)
NOT_COMPUTED = (RIGHT, NONE, NONE, NONE, NONE)
TABLE = {
    "pos-restart": (runs.PLAIN, [PLAIN] + [(RIGHT, WRONG, RIGHT, RIGHT, WRONG)] * 5),
    "mask-top-left": (runs.PLAIN, [PLAIN] + [(RIGHT, RIGHT, RIGHT, WRONG, WRONG)] * 5),
    "store-row-zero": (runs.PLAIN, [PLAIN] + [(RIGHT, RIGHT, WRONG, RIGHT, WRONG)] * 5),
    "store-alias-in": (runs.PLAIN, [PLAIN] * 2 + [(RIGHT, RIGHT, WRONG, RIGHT, WRONG)] * 4),
    # At step 5 all twelve rows are written: the mask is right again, what was kept is not.
    "mask-unwritten": (
        runs.PLAIN,
        [(RIGHT, RIGHT, RIGHT, WRONG, WRONG)] * 5 + [(RIGHT, RIGHT, RIGHT, RIGHT, WRONG)],
    ),
    "cap-early": (runs.FULL, [PLAIN] * 5 + [(WRONG, NONE, NONE, NONE, NONE)]),
    "cap-counter-first": (runs.FULL, [PLAIN] * 6 + [(WRONG, NONE, NONE, NONE, NONE)]),
    "store-uneven": (
        runs.UNEVEN,
        [PLAIN] * 2 + [(WRONG, NONE, NONE, NONE, NONE)] + [(WRONG, RIGHT, RIGHT, WRONG, WRONG)] * 2,
    ),
}


@pytest.mark.parametrize("fault", TABLE)
def test_each_fault_is_wrong_at_its_own_stages(fault: str) -> None:
    spec, expected = TABLE[fault]
    verdicts = runs.view_of(runs.with_fault(spec, fault), 0).verdicts
    assert [stands(verdict) for verdict in verdicts.values()] == expected


CONTENTS = {
    # The wrong position stays with the token for as long as it is held.
    "pos-restart": (runs.PLAIN, ".XXXXX"),
    "evict-newest": (runs.WINDOW, "..XXXX"),
    "evict-never": (runs.WINDOW, "..XXXX"),
    "sinks-lost": (runs.SINKS, "..XXXX"),
    # The ledger keeps what it should; where the rows are is another matter.
    "store-row-zero": (runs.PLAIN, "......"),
    "store-write-lost": (runs.PLAIN, "......"),
    "mask-top-left": (runs.PLAIN, "......"),
    "mask-unwritten": (runs.PLAIN, "......"),
    "ring-shuffle": (runs.WINDOW, "......"),
    "gauge-lies": (runs.WINDOW, "......"),
    # Refused: what is counted too much holds no token. Refused too early: one is lacking.
    "cap-counter-first": (runs.FULL, "......."),
    "cap-early": (runs.FULL, ".....X"),
}


@pytest.mark.parametrize("fault", CONTENTS)
def test_what_is_held_after_each_step_is_judged_by_tokens_and_positions(fault: str) -> None:
    spec, expected = CONTENTS[fault]
    verdicts = runs.view_of(runs.with_fault(spec, fault), 0).verdicts
    stages = [verdict.stages for verdict in verdicts.values()]
    assert "".join("." if stage and stage.contents else "X" for stage in stages) == expected


RIGHT_RUNS = {
    "plain": runs.PLAIN,
    "rope": runs.ROPE,
    "window": runs.WINDOW,
    "sinks": runs.SINKS,
    "ranks": runs.RANKED,
    "reprefill": runs.REPREFILL,
    "tokens never computed": runs.SKIPPED,
    "chunks": runs.CHUNKED,
    "forced": runs.FORCED,
    "long": runs.LONG,
    "rollback": runs.ROLLED_BACK,
    "new prompt": runs.NEW_TEXT,
    "probe": runs.PROBED,
    "uneven probe": runs.UNEVEN,
    "refused": runs.FULL,
}


@pytest.mark.parametrize("name", RIGHT_RUNS)
def test_without_a_fault_every_stage_of_every_step_is_right(name: str) -> None:
    view = runs.view_of(RIGHT_RUNS[name], 0)
    for record, verdict in zip(view.records, view.verdicts.values(), strict=True):
        assert stands(verdict) == (PLAIN if record.is_computed else NOT_COMPUTED)
        assert verdict.stages is not None
        assert verdict.stages.contents is True


@pytest.mark.parametrize("fault", TABLE)
def test_a_stage_is_wrong_only_in_a_step_with_a_wrong_verdict(fault: str) -> None:
    spec, _ = TABLE[fault]
    verdicts = runs.view_of(runs.with_fault(spec, fault), 0).verdicts
    for verdict in verdicts.values():
        assert (WRONG in stands(verdict)) == verdict.is_wrong


def test_a_fault_in_the_third_layer_leaves_the_first_two_right() -> None:
    spec = runs.with_fault(runs.PLAIN, "store-row-zero", layers=(2,))
    verdicts = runs.view_of(spec, 0).verdicts
    assert [beyond(verdict) for verdict in verdicts.values()] == [[], *([[2, 3]] * 5)]


def test_a_buffer_that_filled_up_leaves_the_first_layer_right() -> None:
    verdicts = runs.view_of(runs.with_fault(runs.PLAIN, "mask-unwritten"), 0).verdicts
    assert beyond(verdicts[4]) == [0, 1, 2, 3]
    assert beyond(verdicts[5]) == [1, 2, 3]


def errors_in_one_piece(trace: Trace, scheme: str) -> list[list[float]]:
    """By step and layer, the largest error against one detailed forward over the whole text."""
    token_ids = np.array([token for record in trace.records for token in record.token_ids])
    n = len(token_ids)
    causal = np.tri(n, dtype=bool)
    reference = Reference(tiny(scheme).config, tiny(scheme).weights.arrays())
    right = reference.forward(Passage(token_ids, np.arange(n), None, causal), detail=True)
    found: list[list[float]] = []
    for record in trace.records:
        rows = list(record.token_index)
        errors = [
            float(np.abs(mine.residual - theirs.residual[rows]).max())
            for mine, theirs in zip(record.layers[:-1], right.layers[:-1], strict=True)
        ]
        last = record.layers[-1].residual[-1] - right.layers[-1].residual[rows[-1]]
        found.append([*errors, float(np.abs(last).max())])
    return found


@pytest.mark.parametrize("scheme", ["learned", "rope", "alibi"])
def test_layer_errors_are_those_against_one_forward_over_the_whole_text(scheme: str) -> None:
    faults = (FaultUse("mask-top-left"),)
    spec = spec_for(scheme, steps=4, capacity=16, chunk=3, faults=faults)
    trace = run(spec)
    expected = errors_in_one_piece(trace, scheme)
    verdicts = Judge(trace, tiny(scheme)).update()
    found = [verdict.stages.layer_errors for verdict in verdicts if verdict.stages]
    np.testing.assert_allclose(np.array(found), np.array(expected), rtol=1e-9, atol=1e-12)


def test_the_band_of_a_layer_is_that_of_the_largest_right_number() -> None:
    done = judged(spec_for("learned", steps=2, capacity=12))
    stages = done.verdicts[1].stages
    assert stages is not None
    assert stages.layer_bands is not None
    for band, layer in zip(stages.layer_bands, done.trace.records[1].layers, strict=True):
        assert math.isclose(band, field_band("float64", layer.residual[-1:]), rel_tol=1e-9)


def test_tokens_that_should_have_fallen_out_are_compared_with_nothing() -> None:
    """Five tokens are computed where the policy lets the first two fall out, after others."""
    spec = spec_for(
        "learned",
        capacity=3,
        policy="reprefill",
        prompt_ids=(1, 2, 3),
        requests=(Prefill((1, 2, 3)), NewPrompt((4, 5, 6, 7, 8))),
        faults=(FaultUse("cap-one-row-test"),),
    )
    done = judged(spec)
    record, verdict = done.trace.records[1], done.verdicts[1]
    assert verdict.expected.position_ids == (None, None, 0, 1, 2)
    assert (record.n_skipped, record.position_ids) == (0, (0, 1, 2, 3, 4))
    reference = Reference(tiny("learned").config, tiny("learned").weights.arrays())
    held = Passage(np.array([6, 7, 8]), np.arange(3), None, np.tri(3, dtype=bool))
    right = reference.forward(held, detail=True).layers[0].residual
    expected = float(np.abs(record.layers[0].residual[2:] - right).max())
    assert verdict.stages is not None
    assert verdict.stages.layer_errors is not None
    assert math.isclose(verdict.stages.layer_errors[0], expected, rel_tol=1e-9)


def test_stages_are_the_same_however_often_a_run_is_judged() -> None:
    spec = spec_for("rope", steps=4, capacity=16, faults=(FaultUse("store-row-zero"),))
    whole = judged(spec)
    session = Session(spec, tiny("rope"))
    judge = Judge(session.trace, tiny("rope"))
    for verdict in whole.verdicts:
        session.advance()
        (again,) = judge.update()
        assert again.stages is not None
        assert verdict.stages is not None
        assert replace(again.stages, layer_errors=None, layer_bands=None) == replace(
            verdict.stages, layer_errors=None, layer_bands=None
        )
        errors = (again.stages.layer_errors, verdict.stages.layer_errors)
        np.testing.assert_allclose(*errors, rtol=1e-6, atol=1e-11)
        bands = (again.stages.layer_bands, verdict.stages.layer_bands)
        np.testing.assert_allclose(*bands, rtol=1e-12)


def test_a_residual_that_is_no_number_is_beyond_every_band() -> None:
    done = judged(spec_for("learned", steps=1, capacity=12))
    record = done.trace.records[1]
    spoiled = record.layers[1].residual.copy()
    spoiled[0, 3] = np.nan
    layers = (*record.layers[:1], replace(record.layers[1], residual=spoiled), *record.layers[2:])
    done.trace.records[1] = replace(record, layers=layers)
    verdict = judge_again(done.trace, tiny("learned")).verdicts[1]
    assert verdict.stages is not None
    assert verdict.stages.layer_errors is not None
    assert math.isnan(verdict.stages.layer_errors[1])
    assert beyond(verdict) == [1]


def test_a_step_that_should_have_been_refused_is_wrong_at_admission_alone() -> None:
    """Nothing is expected of the positions and the mask of a token that was not to be read."""
    spec = spec_for("learned", steps=0, capacity=8, requests=(Prefill(SEVEN_IDS),))
    done = judged(spec)
    crowded = replace(done.trace.spec, capacity=6)
    changed = Trace(crowded, done.trace.model, list(done.trace.records))
    verdict = judge_again(changed, tiny("learned")).verdicts[0]
    assert stands(verdict)[:4] == (WRONG, NONE, RIGHT, NONE)


def _without_contents(path) -> None:
    """The file as it was before the contents were a stage."""
    text, columns = read_container(path)
    document = json.loads(text)
    for verdict in document["runs"][0]["verdicts"]:
        del verdict["stages"]["contents"]
    write_container(path, json.dumps(document), columns)


def test_stages_are_kept_in_a_file_and_a_file_without_them_still_opens(tmp_path) -> None:
    spec = spec_for("learned", steps=2, capacity=12, faults=(FaultUse("pos-restart"),))
    done = judged(spec)
    path = tmp_path / "run.kvtrace"
    save_trace(path, done.trace, full=True, verdicts=done.verdicts)
    assert [v.stages for v in open_trace(path).verdicts] == [v.stages for v in done.verdicts]
    _without_contents(path)
    stages = [verdict.stages for verdict in done.verdicts if verdict.stages]
    opened = [verdict.stages for verdict in open_trace(path).verdicts]
    assert opened == [replace(stage, contents=None) for stage in stages]
    older = [replace(verdict, stages=None) for verdict in done.verdicts]
    save_trace(path, done.trace, full=True, verdicts=older)
    opened = open_trace(path)
    assert [verdict.stages for verdict in opened.verdicts] == [None] * 3
    assert opened.verdicts[1].first_difference == done.verdicts[1].first_difference


def test_a_difference_of_a_tensor_tells_its_largest_error() -> None:
    done = judged(spec_for("learned", steps=2, capacity=12, faults=(FaultUse("store-row-zero"),)))
    difference = done.verdicts[1].first_difference
    assert difference is not None
    assert (difference.field, difference.layer) == ("keys", 0)
    assert difference.error is not None
    assert difference.band is not None
    assert difference.error > difference.band
