"""Whatever is asked of an engine without a fault, every oracle agrees with it."""

import numpy as np
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

from core.arrays import ABSENT
from core.compare import agrees_with_policy
from core.judge import Judge
from core.session import Session
from core.spec import Decode, NewPrompt, Prefill, Probe, Rollback, RunSpec
from core.trace_json import from_json, to_json
from tests.core.properties.strategies import beam_specs, mixed_specs, plain_specs, token_ids
from tests.helpers.runs import SCHEMES, Judged, judged, run, tiny

few = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
more = settings(few, max_examples=140)


def _nothing_is_wrong(run: Judged) -> None:
    assert run.wrong_steps == []
    assert [verdict.first_difference for verdict in run.verdicts] == [None] * len(run.verdicts)
    for record, verdict in zip(run.trace.records, run.verdicts, strict=True):
        expected = verdict.expected
        assert agrees_with_policy(record, expected)
        ledger = record.ledger
        held = ledger.token_index != ABSENT
        assert expected.live == tuple(
            zip(ledger.token_index[held].tolist(), ledger.position_id[held].tolist(), strict=True)
        )
        assert record.n_recomputed == expected.recomputed
        assert ledger.length == len(ledger.slot) <= ledger.capacity


def _shows_what_it_holds(run: Judged) -> None:
    """Every slot really holds the token that the ledger claims for it."""
    for record in run.trace.records:
        in_order = np.argsort(record.ledger.slot)
        for live in record.live:
            assert live.slot.tolist() == record.ledger.slot[in_order].tolist()
            assert live.token_index.tolist() == record.ledger.token_index[in_order].tolist()
        for layer in record.layers:
            assert np.array_equal(layer.row_token, layer.plan.view_token_index)


@more
@given(plain_specs("float64"))
def test_decoding_in_float64_equals_the_reference_to_ten_digits(spec: RunSpec):
    found = judged(spec)
    event(f"{spec.policy}, {found.trace.end}")
    _nothing_is_wrong(found)
    _shows_what_it_holds(found)
    assert found.largest_error <= 1e-10
    assert set(found.logits) <= {"right", None}


@few
@given(plain_specs("float32"))
def test_decoding_in_float32_stays_within_the_band(spec: RunSpec):
    found = judged(spec)
    _nothing_is_wrong(found)
    assert set(found.logits) <= {"right", None}


@few
@given(plain_specs("bfloat16", "float16"))
def test_decoding_in_half_precision_is_never_called_wrong(spec: RunSpec):
    _nothing_is_wrong(judged(spec))


@more
@given(mixed_specs("float64"))
# Rows of a probe count from the step after it, in whatever batch they are judged.
@example(
    RunSpec(
        "tiny-rope", (1, 2, 3), capacity=12, dtype="float64",
        requests=(Prefill((1, 2, 3)), Decode(), Probe(1, 1), Decode()),
    )
)  # fmt: skip
# A new prompt that is refused forgets the rows of a probe too.
@example(
    RunSpec(
        "tiny-rope", (1, 2), capacity=4, dtype="float64",
        requests=(
            Prefill((1, 2)), Rollback(2), Probe(1, 1), NewPrompt((1, 2, 3, 4, 5)), Prefill((7, 8)),
        ),
    )
)  # fmt: skip
# Everything is taken back after something fell out.
@example(
    RunSpec(
        "tiny-learned", (1, 2), capacity=3, dtype="float64", policy="reprefill",
        requests=(Prefill((1, 2)), Decode(), Decode(), Decode(), Rollback(5), Prefill((3, 4))),
    )
)  # fmt: skip
@example(
    RunSpec(
        "tiny-rope", (1, 2, 3, 4), capacity=1, dtype="float64", policy="reprefill",
        requests=(Prefill((1, 2, 3, 4)), Rollback(2), Decode(), Rollback(1), Rollback(1), Decode()),
    )
)  # fmt: skip
def test_no_verdict_is_wrong_whatever_is_asked(spec: RunSpec):
    found = judged(spec)
    for record in found.trace.records:
        event(f"{record.phase}: {type(record.outcome).__name__}")
    _nothing_is_wrong(found)
    _shows_what_it_holds(found)
    assert found.largest_error <= 1e-10


@few
@given(beam_specs("float64"))
def test_no_verdict_is_wrong_however_beams_go_on_from_each_other(spec: RunSpec):
    found = judged(spec)
    assert found.wrong_steps == []
    assert [verdict.first_difference for verdict in found.verdicts] == [None] * len(found.verdicts)
    assert found.largest_error <= 1e-10
    for record, verdict in zip(found.trace.records, found.verdicts, strict=True):
        assert agrees_with_policy(record, verdict.expected)
        for layer in record.layers:
            assert np.array_equal(layer.row_token, layer.plan.view_token_index)


@few
@given(mixed_specs("float32", "bfloat16", "float16"))
# The engine's error is large and that of a forward without a cache happens to be small.
@example(
    RunSpec(
        "tiny-rope", (95, 142, 19), capacity=2, dtype="float16", policy="window", chunk=1, steps=0
    )
)  # fmt: skip
def test_no_verdict_is_wrong_in_smaller_number_types(spec: RunSpec):
    _nothing_is_wrong(judged(spec))


@few
@given(mixed_specs("float64"), st.integers(1, 4))
def test_judging_in_batches_gives_the_verdicts_of_judging_once(spec: RunSpec, every: int):
    loaded = tiny(spec.model.removeprefix("tiny-"))
    session = Session(spec, loaded)
    judge = Judge(session.trace, loaded)
    given_out = []
    while session.advance() is not None:
        if len(session.trace.records) % every == 0:
            given_out += judge.update()
    given_out += judge.update()
    assert given_out == judge.verdicts
    once = judged(spec)
    for mine, other in zip(judge.verdicts, once.verdicts, strict=True):
        assert (mine.policy, mine.mechanism, mine.step) == (
            other.policy, other.mechanism, other.step,
        )  # fmt: skip
        assert mine.first_difference == other.first_difference
        assert (mine.logits is None) == (other.logits is None)
        if mine.logits is not None:
            assert np.allclose(mine.logits.reference, other.logits.reference, atol=1e-11)


@few
@given(plain_specs("float64"))
def test_chunks_give_the_last_logits_of_the_whole_prompt(spec: RunSpec):
    ids, n = spec.prompt_ids, len(spec.prompt_ids)
    settings_of_run = {
        "policy": spec.policy, "capacity": spec.capacity, "sinks": spec.sinks,
        "reassign_positions": spec.reassign_positions, "dtype": "float64", "steps": 2,
        "force_ids": (7, 8),
    }  # fmt: skip
    whole = run(RunSpec(spec.model, ids, **settings_of_run)).records
    chunked = run(RunSpec(spec.model, ids, chunk=spec.chunk, **settings_of_run)).records
    if not (whole[0].is_computed and chunked[-1].is_computed):
        return  # refused: nothing to compare
    size = spec.chunk or n
    n_chunks = -(-n // size)
    assert len(chunked) == len(whole) + n_chunks - 1
    for mine, other in zip(chunked[n_chunks - 1 :], whole, strict=True):
        assert mine.is_computed == other.is_computed
        if mine.logits is not None:
            assert np.allclose(mine.logits, other.logits, atol=1e-10)
        assert mine.ledger.token_index.tolist() == other.ledger.token_index.tolist()
        assert mine.ledger.position_id.tolist() == other.ledger.position_id.tolist()


@few
@given(mixed_specs("float32"), st.sampled_from([0.0, 1.5]))
def test_a_replay_gives_equal_digests(spec: RunSpec, temperature: float):
    settings_of_run = {
        field: getattr(spec, field)
        for field in ("model", "prompt_ids", "policy", "capacity", "sinks", "chunk", "requests")
    }
    again = RunSpec(**settings_of_run, temperature=temperature, seed=5)
    first, second = run(again), run(from_json(RunSpec, to_json(again), "spec"))
    assert first.digests() == second.digests()
    assert first.end == second.end


@few
@given(st.sampled_from(SCHEMES), token_ids(1, 8), st.integers(0, 3), st.integers(1, 5))
def test_a_sampled_token_depends_on_seed_step_and_logits_alone(scheme, ids, seed, top_k):
    spec = RunSpec(
        f"tiny-{scheme}", ids, steps=5, temperature=2.0, top_k=top_k, seed=seed, capacity=16
    )
    tokens = [record.next_token for record in run(spec).records]
    # The same tokens, forced: the engine's own choice at each step is still the same.
    forced = run(
        RunSpec(
            f"tiny-{scheme}", ids, steps=5, temperature=2.0, top_k=top_k, seed=seed, capacity=16,
            force_ids=tuple(tokens),
        )
    )  # fmt: skip
    assert [record.predicted for record in forced.records] == tokens
