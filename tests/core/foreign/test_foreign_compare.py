from dataclasses import replace

import numpy as np
import pytest

from core.errors import TraceError
from core.foreign.compare import as_foreign, compare_foreign
from core.foreign.trace import ForeignTrace
from core.spec import Decode, Prefill, Rollback
from tests.helpers.runs import run, spec_for

TEXT = [5, 1, 4, 2, 3]


def logits_of(end: int) -> np.ndarray:
    """Logits that hang on the text alone."""
    return np.sin(np.arange(6) + end).astype(np.float32)


def trace(counts=(3, 1, 1), text=TEXT, dtype="float32") -> ForeignTrace:
    ends = np.cumsum(counts)
    rows = np.stack([logits_of(int(end)) for end in ends])
    return ForeignTrace(None, dtype, np.array(text), np.array(counts), rows)


def first(a: ForeignTrace, b: ForeignTrace) -> tuple[int, str, str, str]:
    found = compare_foreign(a, b).difference
    return (found.step, found.field, found.left, found.right)


def test_a_trace_equals_itself_in_all_its_calls():
    found = compare_foreign(trace(), trace())
    assert (found.difference, found.n_compared, found.dtype) == (None, 3, "float32")


def test_the_first_other_token_is_named_before_the_logits_of_its_call():
    other = trace(text=[5, 1, 4, 0, 3])
    other.logits[1] += 1
    assert first(trace(), other) == (1, "token_ids", "token 3 is 2", "token 3 is 0")
    assert compare_foreign(trace(), other).n_compared == 1


def test_the_first_other_logits_are_named_with_the_token_id_of_the_largest_difference():
    other = trace()
    other.logits[1, 4] += 0.5
    other.logits[2, 0] += 5
    step, field, left, right = first(trace(), other)
    assert (step, field) == (1, "logits")
    assert left == f"{logits_of(4)[4]:.6g} for token id 4, the largest difference"
    assert right == f"{logits_of(4)[4] + 0.5:.6g}"
    assert compare_foreign(trace(), other).n_compared == 2


def test_a_number_that_is_none_differs_and_two_of_them_do_not():
    broken = trace()
    broken.logits[2, 1] = np.nan
    broken.logits[2, 0] += 0.5
    step, field, _, right = first(trace(), broken)
    assert (step, field, right) == (2, "logits", "nan")
    assert compare_foreign(broken, broken).difference is None


def test_rounding_of_the_coarser_type_is_no_difference():
    near = trace()
    near.logits[1] += 0.1
    assert first(trace(), near)[:2] == (1, "logits")
    found = compare_foreign(trace(), replace(near, dtype="bfloat16"))
    assert (found.difference, found.dtype) == (None, "bfloat16")


def test_a_prompt_read_in_chunks_equals_one_read_at_once():
    whole, chunks = trace(), trace((2, 1, 1, 1))
    for a, b in ((whole, chunks), (chunks, whole)):
        found = compare_foreign(a, b)
        assert (found.difference, found.n_compared) == (None, 3)


def test_a_difference_of_chunked_reading_names_the_call_of_either():
    chunks = trace((2, 1, 1, 1))
    chunks.logits[2] += 1
    step, field, _, right = first(trace(), chunks)
    assert (step, field) == (1, "logits")
    assert right.endswith("of its call 2")


@pytest.mark.parametrize(("n_a", "n_b"), [(5, 4), (4, 5)])
def test_a_trace_that_ends_sooner_is_named_with_both_lengths(n_a, n_b):
    a, b = (trace((3, *[1] * (n - 3)), TEXT[:n]) for n in (n_a, n_b))
    assert first(a, b) == (2, "steps", f"{n_a} tokens", f"{n_b} tokens")


def test_vocabularies_of_other_size_are_another_model():
    other = replace(trace(), logits=np.zeros((3, 7)))
    assert first(trace(), other) == (0, "model", "6 token ids", "7 token ids")
    assert compare_foreign(trace(), other).n_compared == 0


def test_a_run_of_our_own_is_its_steps_that_computed():
    own = run(spec_for("rope", prompt_ids=(1, 2, 3), steps=2, capacity=4, chunk=2))
    assert [record.logits is None for record in own.records] == [False, False, False, True]
    found = as_foreign(own)
    assert found.n_tokens.tolist() == [2, 1, 1]
    assert found.token_ids.tolist()[:3] == [1, 2, 3]
    assert np.array_equal(found.logits[2], own.records[2].logits)


def test_a_run_with_a_rollback_is_no_plain_reading():
    requests = (Prefill((1, 2, 3)), Rollback(1), Decode())
    own = run(spec_for("rope", prompt_ids=(1, 2, 3), requests=requests))
    with pytest.raises(TraceError, match="step 1 is a rollback"):
        as_foreign(own)
