"""Why a fault that is on shows nothing: the reason is true of the run."""

from dataclasses import replace

import pytest

from core.faults.catalog import FAULTS
from core.faults.why_silent import why_silent
from core.readouts.run_view import RunView
from core.spec import FaultUse
from tests.core.readouts.runs import FULL, PLAIN, view_of

ROOMY = replace(PLAIN, capacity=64, steps=3)
ONE_PREFILL = replace(PLAIN, steps=0)


def said(shown: RunView) -> str:
    return why_silent(shown.spec.faults[-1], shown.records)


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


def test_where_the_run_has_all_that_a_fault_needs_the_place_where_it_hides_is_named():
    spec = replace(PLAIN, policy="reprefill", capacity=7, faults=(FaultUse("cap-early"),))
    shown = replace(
        view_of(PLAIN, 0), spec=spec, records=view_of(replace(PLAIN, steps=6), 0).records
    )
    assert said(shown) == "it hides where the cache never fills"
