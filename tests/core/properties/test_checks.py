"""Poison, sanitizer and liveness find nothing where nothing is wrong, and never disturb."""

from dataclasses import replace

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from core.sanitizer import Sanitizer
from core.spec import FaultUse, RunSpec
from tests.core.properties.strategies import beam_specs, fault_uses, mixed_specs, plain_specs
from tests.helpers.checks import changed_rows
from tests.helpers.runs import judged, run, tiny

some = settings(
    max_examples=80,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
few = settings(some, max_examples=25)
TYPES = ("float64", "float32", "bfloat16", "float16")
any_spec = st.one_of(mixed_specs(*TYPES), plain_specs(*TYPES), beam_specs(*TYPES))


@some
@given(any_spec)
def test_a_right_run_has_the_same_records_with_and_without_poison(spec: RunSpec):
    assert run(replace(spec, poison=True)).digests() == run(spec).digests()


@some
@given(any_spec, st.booleans())
def test_a_right_run_puts_no_weight_on_a_row_that_is_not_live(spec: RunSpec, poison: bool):
    found = judged(replace(spec, poison=poison))
    sanitizer = Sanitizer(found.trace.model.config.n_layers, spec.n_sequences)
    for verdict in found.verdicts:
        assert sanitizer.follow(found.trace.records, verdict) == ()
    assert sanitizer.found == {}


@few
@given(any_spec)
def test_in_a_right_run_live_rows_change_the_logits_and_dead_ones_do_not(spec: RunSpec):
    trace, found = changed_rows(spec, tiny(spec.model.removeprefix("tiny-")))
    event(f"{len(found)} steps tried")
    assert [(one.step, one.blind, one.leaks) for one in found if one.is_wrong] == []
    assert trace.digests() == run(spec).digests()


@few
@given(mixed_specs("float32"), fault_uses(), st.booleans())
def test_whatever_is_broken_the_run_can_be_followed(
    spec: RunSpec, uses: tuple[FaultUse, ...], poison: bool
):
    broken = replace(spec, faults=uses, poison=poison)
    trace, _ = changed_rows(broken, tiny(spec.model.removeprefix("tiny-")))
    assert trace.digests() == run(broken).digests()
