"""Whatever is broken, and whatever is asked of it, the instrument itself holds."""

from dataclasses import replace

import numpy as np
from hypothesis import HealthCheck, event, example, given, settings

from core.judge import Judge
from core.session import Session
from core.spec import Decode, FaultUse, Prefill, RunSpec
from core.trace import rows_as_read
from tests.core.properties.strategies import fault_uses, mixed_specs
from tests.helpers.runs import judged, run, tiny

some = settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@some
@given(mixed_specs("float64", "float32", "bfloat16"), fault_uses())
# Under ALiBi no key is rotated, whoever numbers it.
@example(
    RunSpec(
        "tiny-alibi", (1, 2, 3, 4, 5, 6, 7), capacity=4, policy="sinks", sinks=1,
        reassign_positions=True, steps=2,
    ),
    (FaultUse("mask-top-left"),),
)  # fmt: skip
# Rows that were never written are read, and hidden by the mask.
@example(
    RunSpec("tiny-rope", (1, 2, 3), capacity=5, chunk=1, dtype="float64",
            requests=(Prefill((1, 2, 3)), Decode())),
    (FaultUse("both-bugs"), FaultUse("mask-unwritten")),
)  # fmt: skip
def test_every_step_gets_the_same_verdicts_whenever_it_is_judged(
    spec: RunSpec, uses: tuple[FaultUse, ...]
):
    spec = replace(spec, faults=uses)
    loaded = tiny(spec.model.removeprefix("tiny-"))
    session = Session(spec, loaded)
    judge = Judge(session.trace, loaded)
    while session.advance() is not None:
        judge.update()
    once = judged(spec)
    assert once.trace.digests() == session.trace.digests()
    for mine, other in zip(judge.verdicts, once.verdicts, strict=True):
        assert (mine.policy, mine.mechanism) == (other.policy, other.mechanism)
        assert mine.first_difference == other.first_difference
        assert (mine.logits is None) == (other.logits is None)
        if mine.logits is not None:
            assert mine.logits.standing == other.logits.standing
    event(f"{uses[0].id}: {len(once.wrong_steps)} wrong of {len(once.verdicts)}")


@some
@given(mixed_specs("float64"), fault_uses())
@example(
    RunSpec("tiny-rope", (1, 2, 3), capacity=5, chunk=1, dtype="float64",
            requests=(Prefill((1, 2, 3)), Decode())),
    (FaultUse("both-bugs"), FaultUse("mask-unwritten")),
)  # fmt: skip
def test_a_first_difference_is_named_where_and_only_where_a_verdict_is_wrong(
    spec: RunSpec, uses: tuple[FaultUse, ...]
):
    found = judged(replace(spec, faults=uses))
    for verdict in found.verdicts:
        assert verdict.is_wrong == (verdict.first_difference is not None)
        if verdict.is_wrong and verdict.first_difference.field == "logits":
            assert verdict.logits.standing == "wrong"


@some
@given(mixed_specs("float32"), fault_uses())
def test_what_was_read_can_be_put_together_from_any_records(
    spec: RunSpec, uses: tuple[FaultUse, ...]
):
    records = run(replace(spec, faults=uses)).records
    for step, record in enumerate(records):
        for number, layer in enumerate(record.layers):
            read = rows_as_read(records, step, number)
            if layer.used_keys is None and len(layer.plan.read_rows):
                n_rep = layer.queries.shape[0] // read.shape[1]
                keys = np.repeat(read[0], n_rep, axis=0)
                scores = np.einsum("htd,hsd->hts", layer.queries, keys) / np.sqrt(8)
                is_tiled = any(use.id == "gqa-tile" for use in uses)
                if not spec.model.endswith("alibi") and not is_tiled:
                    assert np.allclose(scores, layer.scores, 1e-4, 1e-4, equal_nan=True)
