import math

from core.readouts.timeline import timeline_readout
from tests.core.readouts.runs import FULL, PLAIN, ROLLED_BACK, pending_view_of, view_of, with_fault


def test_a_right_run_has_an_error_below_the_band_in_every_step() -> None:
    readout = timeline_readout(view_of(PLAIN, 2))
    assert [point.step for point in readout.points] == list(range(6))
    assert [point.phase for point in readout.points] == ["prefill", *("decode",) * 5]
    assert [point.length for point in readout.points] == [7, 8, 9, 10, 11, 12]
    for point in readout.points:
        assert point.max_abs_error is not None
        assert point.band is not None
        assert point.max_abs_error <= point.band
        assert point.logits == "right"
    assert readout.first_wrong is None
    assert readout.current == 2


def test_the_first_wrong_step_is_named_with_its_first_difference() -> None:
    readout = timeline_readout(view_of(with_fault(PLAIN, "mask-top-left"), 3))
    assert readout.first_wrong == 1
    assert [point.logits for point in readout.points] == ["right", *("wrong",) * 5]
    assert [point.mechanism for point in readout.points] == ["right", *("wrong",) * 5]
    assert [point.policy for point in readout.points] == ["right"] * 6
    assert readout.points[1].difference == "visible (Mask), layer 0"
    assert readout.sentence.endswith("first wrong step: 1, in visible (Mask), layer 0")


def test_errors_are_those_of_the_verdicts() -> None:
    view = view_of(with_fault(PLAIN, "store-row-zero"), 1)
    for point in timeline_readout(view).points:
        logits = view.verdicts[point.step].logits
        assert logits is not None
        assert math.isclose(point.max_abs_error or 0.0, logits.max_abs_error)
        assert point.wrong_above == logits.wrong_above


def test_a_refusal_that_should_not_be_is_wrong_without_logits() -> None:
    readout = timeline_readout(view_of(with_fault(FULL, "cap-early"), 5))
    point = readout.points[5]
    assert (point.is_refused, point.is_wrong, point.logits) == (True, True, None)
    assert point.outcome == "refused: needs 1, 1 free of 12; should be accepted"
    assert point.n_tokens == 0
    assert readout.first_wrong == 5


def test_steps_that_compute_nothing_stand_in_line() -> None:
    readout = timeline_readout(view_of(ROLLED_BACK, 7))
    assert [point.phase for point in readout.points][6:8] == ["decode", "rollback"]
    assert readout.points[7].max_abs_error is None
    assert readout.points[7].policy == "right"


def test_steps_without_a_verdict_are_pending() -> None:
    readout = timeline_readout(pending_view_of(PLAIN, 1))
    assert readout.n_pending == 6
    assert all(point.is_pending and not point.is_wrong for point in readout.points)
    assert readout.sentence == (
        "step 1 of 5, decode; verdict pending; no step is wrong so far, 6 pending"
    )
