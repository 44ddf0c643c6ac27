"""Which token a step reads, where prompts are cut, and when a run is over."""

import numpy as np
import pytest
import torch

from core.engine.engine import AppendTokens, ProbeRows, RollBack
from core.outcome import OK, Refused
from core.script import Script
from core.spec import Decode, NewPrompt, Prefill, Probe, Rollback
from tests.helpers.runs import SEVEN_IDS, run, spec_for, tiny, with_config

EOS = 3


def _steps(*requests, **settings):
    """Phase and tokens of each step of a scenario."""
    trace = run(spec_for("rope", requests=requests, **settings))
    return [(record.phase, record.token_ids) for record in trace.records]


def test_a_run_is_one_prefill_and_then_decodes_of_the_engines_own_choice():
    trace = run(spec_for("rope", steps=3))
    assert [record.phase for record in trace.records] == ["prefill", *["decode"] * 3]
    for earlier, later in zip(trace.records, trace.records[1:], strict=False):
        assert later.token_ids == (earlier.next_token,)
        assert earlier.next_token == earlier.predicted
    assert trace.end == "steps"


@pytest.mark.parametrize(
    ("chunk", "sizes"), [(1, [1] * 7), (2, [2, 2, 2, 1]), (3, [3, 3, 1]), (7, [7]), (9, [7])]
)
def test_a_prompt_is_cut_into_chunks_from_its_beginning(chunk, sizes):
    records = run(spec_for("rope", steps=0, chunk=chunk)).records
    assert [len(record.token_ids) for record in records] == sizes
    assert tuple(token for record in records for token in record.token_ids) == SEVEN_IDS
    assert [record.token_index[0] for record in records] == np.cumsum([0, *sizes[:-1]]).tolist()


def test_within_a_prompt_the_next_token_is_the_prompts_and_counts_as_forced():
    records = run(spec_for("rope", steps=1, chunk=3)).records
    assert [record.next_token for record in records[:2]] == [SEVEN_IDS[3], SEVEN_IDS[6]]
    assert [record.is_forced for record in records] == [True, True, False, False]


def test_forced_tokens_replace_the_first_generated_ones():
    records = run(spec_for("rope", steps=4, force_ids=(201, None, 203))).records
    assert records[1].token_ids == (201,)
    assert records[2].token_ids == (records[1].predicted,)
    assert records[3].token_ids == (203,)
    assert [record.is_forced for record in records] == [True, False, True, False, False]


def test_chunks_of_the_prompt_use_up_no_forced_token():
    records = run(spec_for("rope", steps=2, chunk=2, force_ids=(201, 202))).records
    assert [record.token_ids for record in records[4:]] == [(201,), (202,)]


def test_a_further_prefill_is_read_after_what_was_read_before():
    steps = _steps(Prefill((1, 2)), Decode(), Prefill((8, 9)), Decode(), force_ids=(50, 51))
    assert steps == [
        ("prefill", (1, 2)), ("decode", (50,)), ("prefill", (8, 9)), ("decode", (51,)),
    ]  # fmt: skip


def test_a_new_prompt_is_cut_into_chunks_of_which_only_the_first_starts_a_text():
    steps = _steps(Prefill((1, 2)), NewPrompt((5, 6, 7)), chunk=2)
    assert steps == [("prefill", (1, 2)), ("new_prompt", (5, 6)), ("prefill", (7,))]


def test_the_first_token_taken_back_is_read_next():
    trace = run(
        spec_for("rope", requests=(Prefill((1, 2, 3, 4)), Rollback(2), Decode()), capacity=8)
    )
    assert trace.records[1].next_token == 3
    assert trace.records[2].token_ids == (3,)


def test_everything_may_be_taken_back():
    steps = _steps(Prefill((1, 2, 3)), Rollback(3), Decode(), Decode())
    assert steps[2] == ("decode", (1,))


def test_more_than_was_read_cannot_be_taken_back_and_the_run_goes_on():
    trace = run(
        spec_for("rope", requests=(Prefill((1, 2)), Rollback(3), Decode()), force_ids=(77,))
    )
    assert trace.records[1].outcome == Refused(3, 2)
    assert trace.records[1].next_token is None
    assert trace.records[2].token_ids == (77,)


def test_a_refused_decode_is_tried_again_by_the_next_one():
    trace = run(
        spec_for(
            "rope", capacity=2, force_ids=(77,),
            requests=(Prefill((1, 2)), Decode(), Rollback(1), Decode(), Decode()),
        )
    )  # fmt: skip
    full = Refused(1, 0)
    assert [record.outcome for record in trace.records] == [OK, full, OK, OK, full]
    assert [record.token_ids for record in trace.records] == [
        (1, 2), (77,), (), (2,), (trace.records[3].predicted,),
    ]  # fmt: skip


def test_after_a_refused_new_prompt_there_is_nothing_to_decode():
    trace = run(
        spec_for("rope", capacity=2, requests=(Prefill((1,)), NewPrompt((4, 5, 6)), Decode()))
    )
    assert [record.phase for record in trace.records] == ["prefill", "new_prompt"]
    assert trace.end == "refused"


def test_after_a_refused_first_prompt_there_is_nothing_to_decode():
    trace = run(spec_for("rope", capacity=2, requests=(Prefill((4, 5, 6)), Decode())))
    assert len(trace.records) == 1
    assert trace.end == "refused"


def test_plain_decoding_ends_at_a_refusal():
    trace = run(spec_for("rope", capacity=8, steps=5))
    assert [record.outcome for record in trace.records] == [OK, OK, Refused(1, 0)]
    assert trace.end == "refused"


def test_a_prompt_that_does_not_fit_ends_the_run_at_its_first_refused_chunk():
    trace = run(spec_for("rope", capacity=4, steps=5, chunk=3))
    assert [record.outcome for record in trace.records] == [OK, Refused(3, 1)]
    assert trace.end == "refused"


def _loaded_with_end():
    return with_config("rope", eos_token_id=EOS)


def _first_choice():
    return run(spec_for("rope", steps=1)).records[0].predicted


def test_the_engines_own_end_of_text_ends_the_run_before_it_is_read():
    loaded = with_config("rope", eos_token_id=_first_choice())
    trace = run(spec_for("rope", steps=5), loaded)
    assert [record.phase for record in trace.records] == ["prefill"]
    assert trace.end == "end_of_text"


def test_a_forced_end_of_text_is_read_like_any_other_token():
    trace = run(spec_for("rope", steps=2, force_ids=(EOS,)), _loaded_with_end())
    assert [record.token_ids for record in trace.records][1] == (EOS,)
    assert trace.end == "steps"


def test_an_end_of_text_within_the_prompt_ends_nothing():
    trace = run(spec_for("rope", prompt_ids=(1, EOS, 5), steps=1, chunk=1), _loaded_with_end())
    assert trace.end == "steps"
    assert [record.token_ids for record in trace.records[:3]] == [(1,), (EOS,), (5,)]


def test_an_end_of_text_of_the_prompt_that_was_taken_back_is_read_again():
    requests = (Prefill((1, EOS, 5)), Decode(), Rollback(3), Decode())
    trace = run(spec_for("rope", requests=requests, force_ids=(7,)), _loaded_with_end())
    assert [record.phase for record in trace.records][-1] == "decode"
    assert trace.records[-1].token_ids == (EOS,)


def test_a_scenario_goes_on_with_a_new_prompt_where_a_decode_would_end_it():
    loaded = with_config("rope", eos_token_id=_first_choice())
    trace = run(spec_for("rope", requests=(Prefill(SEVEN_IDS), NewPrompt((4,)))), loaded)
    assert [record.phase for record in trace.records] == ["prefill", "new_prompt"]
    assert trace.end == "steps"


def _script(*requests, **settings):
    return Script(spec_for("rope", requests=requests, **settings), tiny("rope").config)


def test_asking_twice_gives_the_same_request_until_it_is_answered():
    script = _script(Prefill((1, 2)), Decode())
    first = script.next_request(0, torch.float64)
    assert first == AppendTokens("prefill", (1, 2), None, is_new_text=False)
    assert script.next_request(0, torch.float64) == first


def test_an_empty_list_of_requests_is_over_at_once():
    script = _script()
    assert script.next_request(0, torch.float64) is None
    assert script.end == "steps"


def test_more_requests_wake_a_run_that_ended_for_lack_of_steps():
    script = _script()
    script.next_request(0, torch.float64)
    script.add([Prefill((4,))])
    assert script.end is None
    assert script.next_request(0, torch.float64) == AppendTokens("prefill", (4,))


def test_a_rollback_of_an_unread_text_names_no_next_token():
    script = _script(Rollback(1))
    assert script.next_request(0, torch.float64) == RollBack(1, None)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_the_rows_of_a_probe_depend_on_seed_and_step_alone(dtype):
    config = tiny("rope").config

    def rows(step, seed=0):
        request = _script(Probe(2, 3), seed=seed).next_request(step, dtype)
        assert isinstance(request, ProbeRows)
        return request

    first = rows(4)
    assert first.keys.shape == (config.n_layers, config.n_kv_heads, 2, config.d_head)
    assert first.values.shape == (config.n_layers, config.n_kv_heads, 3, config.d_head)
    assert first.keys.dtype == first.values.dtype == dtype
    assert torch.equal(first.keys, rows(4).keys)
    assert torch.equal(first.values, rows(4).values)
    assert not torch.equal(first.keys, rows(5).keys)
    assert not torch.equal(first.keys, rows(4, seed=1).keys)


def test_generated_tokens_are_those_chosen_to_be_read():
    spec = spec_for("rope", steps=2, chunk=4, force_ids=(9,))
    script, engine_answers = Script(spec, tiny("rope").config), run(spec).records
    for record in engine_answers:
        script.next_request(record.step, torch.float64)
        script.done(record)
    assert script.generated == [
        (1, 9), (2, engine_answers[2].predicted), (3, engine_answers[3].predicted),
    ]  # fmt: skip


def test_the_rest_of_a_refused_prompt_is_not_read():
    requests = (Prefill((1, 2, 3)), Prefill((4, 5, 6, 7, 8)), Decode())
    records = run(spec_for("rope", capacity=5, chunk=3, requests=requests)).records
    assert [type(record.outcome).__name__ for record in records] == ["Ok", "Refused", "Ok"]
    assert records[2].phase == "decode"
    assert records[2].token_index == (3,)
