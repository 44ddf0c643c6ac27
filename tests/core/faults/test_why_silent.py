"""Why a fault that is on shows nothing: the reason is true of the run."""

from dataclasses import replace

import pytest

from core.faults.catalog import FAULTS
from core.faults.why_silent import why_silent
from core.readouts.run_view import RunView
from core.spec import FaultUse
from tests.core.readouts.runs import FULL, PLAIN, SINKS, WINDOW, view_of

ROOMY = replace(PLAIN, capacity=64, steps=3)
ONE_PREFILL = replace(PLAIN, steps=0)


def said(shown: RunView) -> str:
    spec = shown.spec
    return why_silent(spec.faults[-1], spec, shown.model.config.scheme, shown.records)


@pytest.mark.parametrize(
    ("fault_id", "spec", "reason"),
    [
        ("cap-early", ROOMY, "the cache never filled: 10 of 64 slots"),
        ("cap-counter-first", ROOMY, "nothing was refused: at most 10 of 64 slots were used"),
        ("pos-restart", ONE_PREFILL,
         "no step read tokens after earlier ones: the prompt was read at once, from token 0 on"),
        ("mask-top-left", ONE_PREFILL,
         "no step read tokens after earlier ones: the prompt was read at once, from token 0 on"),
        ("store-row-zero", ONE_PREFILL,
         "no step read tokens after earlier ones: the prompt was read at once, from token 0 on"),
        ("mask-unwritten", replace(ONE_PREFILL, capacity=7),
         "no slot was left unwritten: 7 of 7 at every step"),
        ("store-alias-in", ONE_PREFILL, "it takes two decoded tokens, and there were none"),
        ("store-alias-in", replace(PLAIN, steps=1),
         "it takes two decoded tokens, and there was one"),
        ("evict-off-by-one", FULL,
         "no row left to make room: with 12 of 12 slots used the cache refused"),
        ("evict-off-by-one", ROOMY,
         "no row left to make room: at most 10 of 64 slots were used"),
        ("evict-one-short", FULL,
         "there was no window: with 12 of 12 slots used the cache refused"),
        ("store-uneven", ROOMY, "each of the 4 appends had as many keys as values"),
    ],
)  # fmt: skip
def test_a_fault_that_shows_nothing_says_what_it_lacks(fault_id, spec, reason):
    shown = view_of(replace(spec, faults=(FaultUse(fault_id),)), 0)
    assert not any(verdict.is_wrong for verdict in shown.verdicts.values())
    assert said(shown) == reason


@pytest.mark.parametrize(
    "fault", [fault for fault in FAULTS if fault.lacks is not None], ids=lambda fault: fault.id
)
def test_where_a_fault_shows_it_lacks_nothing(fault):
    scenario = fault.shows_in.spec(lambda _: PLAIN.prompt_ids)
    shown = view_of(
        replace(scenario, model=f"tiny-{fault.schemes[0]}", faults=(FaultUse(fault.id),)), 0
    )
    assert any(verdict.is_wrong for verdict in shown.verdicts.values())
    assert fault.lacks is not None
    assert fault.lacks(shown.records) is None


def test_a_fault_whose_first_step_was_not_reached_says_so():
    shown = view_of(replace(ROOMY, faults=(FaultUse("pos-restart", first_step=9),)), 0)
    assert said(shown) == "it acts from step 9 on, and the last step is 3"


def test_a_decision_that_was_taken_before_the_fault_was_on_says_so():
    shown = view_of(replace(ROOMY, faults=(FaultUse("store-layers-share", first_step=1),)), 0)
    assert said(shown) == ("allocate is asked once, before step 0, and the fault is on from step 1")


def test_under_a_policy_that_never_refuses_nothing_was_refused():
    spec = replace(PLAIN, capacity=9, policy="window", faults=(FaultUse("cap-counter-first"),))
    assert said(view_of(spec, 0)) == "nothing was refused: at most 9 of 9 slots were used"


def test_where_the_run_has_all_that_a_fault_needs_the_command_that_shows_it_is_named():
    spec = replace(PLAIN, policy="reprefill", capacity=7, faults=(FaultUse("cap-early"),))
    shown = replace(
        view_of(PLAIN, 0), spec=spec, records=view_of(replace(PLAIN, steps=6), 0).records
    )
    assert said(shown) == (
        "its records do not tell why; kvscope run --fault cap-early alone shows it"
    )


NOT_ROTATED = {
    "tiny-learned": "with learned positions nothing is rotated, so that it cannot show",
    "tiny-alibi": "with ALiBi nothing is rotated, so that it cannot show",
}
NOT_ADDED = {
    "tiny-rope": "with RoPE no position is added to a token, so that it cannot show",
    "tiny-alibi": "with ALiBi no position is added to a token, so that it cannot show",
}


@pytest.mark.parametrize(
    ("fault_id", "model", "reason"),
    [
        (fault_id, model, reason)
        for ids, reasons in (
            (
                (
                    "rope-on-read",
                    "rope-write-back",
                    "rope-writeback-lost",
                    "pos-layer-counter",
                    "pos-layer-prefill",
                    "pos-captured-alias",
                ),
                NOT_ROTATED,
            ),
            (("pos-skip-single",), NOT_ADDED),
        )
        for fault_id in ids
        for model, reason in reasons.items()
    ],
)
def test_a_fault_of_positions_that_the_model_has_not_says_so(fault_id, model, reason):
    shown = view_of(replace(ROOMY, model=model, faults=(FaultUse(fault_id),)), 0)
    assert not any(verdict.is_wrong for verdict in shown.verdicts.values())
    assert said(shown) == reason


def test_every_fault_of_positions_that_some_models_lack_is_among_these():
    """Faults of heads are left out: a model's heads, not its positions, decide on them."""
    listed = {fault.id: fault.schemes for fault in FAULTS if len(fault.schemes) < 3}
    assert set(listed.values()) == {("rope",), ("learned",)}
    assert listed.keys() - {"gqa-tile"} == {
        "rope-on-read",
        "rope-write-back",
        "rope-writeback-lost",
        "pos-layer-counter",
        "pos-layer-prefill",
        "pos-captured-alias",
        "pos-skip-single",
    }


@pytest.mark.parametrize(
    ("fault_id", "spec", "reason"),
    [
        ("quant-floor", ROOMY, "rows are kept as they are computed, not in 8 bits"),
        ("sinks-lost", WINDOW, "no token is kept as a sink"),
        ("sinks-lost", replace(SINKS, capacity=32),
         "no row left to make room: at most 12 of 32 slots were used"),
        ("gqa-tile", ROOMY, "the model has 4 query heads and 4 key heads"),
    ],
)  # fmt: skip
def test_a_fault_of_a_setting_that_the_run_has_not_says_so(fault_id, spec, reason):
    shown = view_of(replace(spec, faults=(FaultUse(fault_id),)), 0)
    assert not any(verdict.is_wrong for verdict in shown.verdicts.values())
    assert said(shown) == reason


def test_only_what_leaves_although_it_is_a_sink_needs_sinks():
    """Others of that function may be shown with sinks as well: then they are no reason."""
    assert [f.id for f in FAULTS if f.seam == "evict" and f.shows_in.sinks] == ["sinks-lost"]
