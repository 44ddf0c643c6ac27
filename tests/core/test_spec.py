import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import CoreError, SpecError
from core.spec import (
    DTYPE_NAMES,
    POLICY_NAMES,
    Decode,
    FaultUse,
    NewPrompt,
    Prefill,
    Probe,
    Rollback,
    RunSpec,
    Verify,
)
from core.trace_json import from_json, to_json


def _spec(**settings):
    return RunSpec("tiny-rope", **{"prompt_ids": (1, 2), **settings})


def _message(**settings):
    with pytest.raises(SpecError) as caught:
        _spec(**settings)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_the_defaults_are_greedy_float32_on_the_processor_under_refuse():
    spec = _spec()
    assert (spec.policy, spec.capacity, spec.steps) == ("refuse", 128, 24)
    assert (spec.temperature, spec.seed, spec.dtype, spec.device) == (0.0, 0, "float32", "cpu")


@pytest.mark.parametrize("name", ["capacity", "steps", "sinks", "seed", "chunk", "top_k"])
@pytest.mark.parametrize("value", [-1, 1.5, "3", True])
def test_a_count_that_is_none_is_refused_by_name_and_value(name, value):
    message = _message(**{name: value})
    assert name in message
    assert repr(value) in message


@pytest.mark.parametrize("name", ["capacity", "chunk", "top_k"])
def test_zero_is_no_capacity_chunk_or_top_k(name):
    assert "at least 1" in _message(**{name: 0})


def test_no_steps_no_sinks_and_seed_zero_are_fine():
    _spec(steps=0, sinks=0, seed=0)


@pytest.mark.parametrize("value", [-0.1, float("nan"), float("inf"), -float("inf")])
def test_a_temperature_below_zero_or_without_end_is_refused(value):
    assert "temperature" in _message(temperature=value)


@pytest.mark.parametrize("value", [0, -0.5, 1.01, float("nan")])
def test_top_p_is_a_share(value):
    assert "top_p" in _message(top_p=value)


def test_all_of_the_probability_is_a_share():
    assert _spec(top_p=1).top_p == 1


def test_an_unknown_policy_or_number_type_is_refused_with_those_there_are():
    for name in POLICY_NAMES:
        assert name in _message(policy="ring")
    for name in DTYPE_NAMES:
        assert name in _message(dtype="float8")


def test_sinks_leave_a_slot_for_newer_tokens():
    assert "at most 3" in _message(policy="sinks", sinks=4, capacity=4)
    _spec(policy="sinks", sinks=3, capacity=4)
    _spec(policy="sinks", sinks=0, capacity=1)


@pytest.mark.parametrize("policy", ["refuse", "window", "reprefill"])
def test_sinks_and_reassigned_positions_need_their_policy(policy):
    assert policy in _message(policy=policy, sinks=2)
    assert policy in _message(policy=policy, reassign_positions=True)


def test_an_empty_prompt_is_refused():
    assert "empty" in _message(prompt_ids=())
    assert "empty" in _message(requests=(Prefill(()),))
    assert "empty" in _message(requests=(Prefill((1,)), NewPrompt(())))


@pytest.mark.parametrize("token", [-1, 1.0, "a", True, None])
def test_a_token_id_that_is_none_is_refused(token):
    assert repr(token) in _message(prompt_ids=(1, token))
    assert repr(token) in _message(requests=(Prefill((token,)),))
    if token is not None:
        assert repr(token) in _message(force_ids=(token,))


@pytest.mark.parametrize("n", [0, -1, 1.5, True])
def test_a_rollback_takes_at_least_one_token_back(n):
    assert "rollback" in _message(requests=(Prefill((1,)), Rollback(n)))


@pytest.mark.parametrize("policy", ["window", "reprefill", "sinks"])
def test_a_probe_needs_the_policy_refuse(policy):
    assert policy in _message(policy=policy, requests=(Prefill((1,)), Probe(1, 1)))


@pytest.mark.parametrize(("n_keys", "n_values"), [(0, 1), (1, 0), (-1, 2), (1.5, 1)])
def test_a_probe_has_rows(n_keys, n_values):
    assert "probe" in _message(requests=(Probe(n_keys, n_values),))


def test_without_requests_a_run_is_a_prefill_and_decodes():
    assert _spec(steps=2).all_requests == (Prefill((1, 2)), Decode(), Decode())
    assert _spec(requests=(Decode(),)).all_requests == (Decode(),)
    assert _spec(requests=()).all_requests == ()


@pytest.mark.parametrize(
    ("settings", "longest"),
    [
        ({}, 2),
        ({"chunk": 1}, 1),
        ({"chunk": 5}, 2),
        ({"requests": (Prefill((1,)), NewPrompt((1, 2, 3)), Decode())}, 3),
        ({"requests": (Prefill((1,)), NewPrompt((1, 2, 3)), Decode()), "chunk": 2}, 2),
        ({"requests": (Decode(),)}, 1),
        ({"requests": ()}, 1),
    ],
)
def test_the_longest_append_is_the_longest_chunk(settings, longest):
    assert _spec(**settings).longest_append == longest


_IDS = st.lists(st.integers(0, 300), min_size=1, max_size=4).map(tuple)
_FAULTS = st.builds(
    FaultUse,
    st.sampled_from(["pos-restart", "mask-top-left"]),
    st.integers(0, 5),
    st.none() | st.integers(5, 9),
    st.none() | st.lists(st.integers(0, 3), min_size=1, max_size=3, unique=True).map(tuple),
)
_REQUESTS = st.one_of(
    st.builds(Prefill, _IDS),
    st.builds(NewPrompt, _IDS),
    st.just(Decode()),
    st.builds(Rollback, st.integers(1, 4)),
    st.builds(Probe, st.integers(1, 3), st.integers(1, 3)),
)


@given(
    st.builds(
        RunSpec,
        model=st.sampled_from(["learned", "/a/folder"]),
        prompt_ids=_IDS,
        steps=st.integers(0, 99),
        capacity=st.integers(1, 300),
        chunk=st.none() | st.integers(1, 9),
        faults=st.lists(_FAULTS, max_size=2).map(tuple),
        force_ids=st.lists(st.none() | st.integers(0, 9), max_size=3).map(tuple),
        temperature=st.floats(0, 5),
        top_k=st.none() | st.integers(1, 9),
        top_p=st.none() | st.floats(0.01, 1),
        seed=st.integers(0, 2**60),
        dtype=st.sampled_from(DTYPE_NAMES),
        requests=st.none() | st.lists(_REQUESTS, max_size=4).map(tuple),
    )
)
def test_a_spec_comes_back_from_its_json_text(spec):
    assert from_json(RunSpec, json.loads(json.dumps(to_json(spec))), "spec") == spec


def test_what_json_leaves_out_has_its_default():
    assert from_json(RunSpec, {"model": "m", "prompt_ids": [1]}, "spec") == RunSpec("m", (1,))


@pytest.mark.parametrize(
    "value",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"model": "m"}, id="no prompt"),
        pytest.param({"prompt_ids": [1]}, id="no model"),
        pytest.param({"model": "m", "prompt_ids": 3}, id="a prompt that is a number"),
        pytest.param({"model": "m", "prompt_ids": "abc"}, id="a prompt that is a text"),
        pytest.param({"model": "m", "prompt_ids": [1], "colour": "red"}, id="an unknown name"),
        pytest.param({"model": "m", "prompt_ids": [1], "requests": [{}]}, id="no kind"),
        pytest.param(
            {"model": "m", "prompt_ids": [1], "requests": [{"kind": "verify"}]}, id="unknown kind"
        ),
        pytest.param(
            {"model": "m", "prompt_ids": [1], "requests": [{"kind": "rollback"}]}, id="no number"
        ),
        pytest.param({"model": "m", "prompt_ids": [1], "faults": ["pos-restart"]}, id="no use"),
        pytest.param({"model": "m", "prompt_ids": [1], "faults": [{}]}, id="a use without an id"),
        pytest.param({"model": "m", "prompt_ids": [1], "capacity": "many"}, id="no number here"),
        pytest.param({"model": "m", "prompt_ids": [1], "temperature": "hot"}, id="no temperature"),
        pytest.param({"model": "m", "prompt_ids": [1], "top_p": [1]}, id="no share"),
        pytest.param({"model": 5, "prompt_ids": [1]}, id="a model that is a number"),
        pytest.param({"model": "m", "prompt_ids": [1], "device": None}, id="no device"),
        pytest.param(
            {
                "model": "m",
                "prompt_ids": [1],
                "policy": "sinks",
                "sinks": 1,
                "reassign_positions": "no",
            },
            id="not yes or no",
        ),
        pytest.param([1, 2], id="a list"),
        pytest.param(None, id="null"),
    ],
)
def test_json_that_is_no_spec_is_refused_in_one_line(value):
    with pytest.raises(CoreError) as caught:
        from_json(RunSpec, value, "spec")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"policy": "window", "requests": (Verify((1,), 1),)},
         "verifying drafts needs the policy refuse, not window"),
        ({"requests": (Verify((), 0),)}, "0 of 0 drafts are to be kept"),
        ({"requests": (Verify((1, 2), 3),)}, "3 of 2 drafts are to be kept"),
        ({"requests": (Verify((1, 2), -1),)}, "-1 of 2 drafts are to be kept"),
        ({"requests": (Verify((-1,), 0),)}, "token id -1 is none"),
        ({"policy": "window", "requests": (NewPrompt((1,), reuse_prefix=True),)},
         "needs the policy refuse and no chunks, not window and chunk None"),
        ({"chunk": 2, "requests": (NewPrompt((1,), reuse_prefix=True),)},
         "needs the policy refuse and no chunks, not refuse and chunk 2"),
        ({"requests": (Prefill((1,)), Prefill((2,), n_pad=1))},
         "only the first request can have padding"),
        ({"chunk": 2, "requests": (Prefill((1,), n_pad=1),)},
         "padding needs the policy refuse and no chunks, not refuse and chunk 2"),
        ({"policy": "sinks", "requests": (Prefill((1,), n_pad=1),)},
         "padding needs the policy refuse and no chunks, not sinks and chunk None"),
        ({"requests": (Prefill((1,), n_pad=-1),)}, "padding of -1 rows"),
        ({"kv_dtype": "int4"}, "kv_dtype 'int4' is not known; choose int8"),
        ({"kv_dtype": "int8", "policy": "sinks", "reassign_positions": True},
         "kv_dtype int8 does not go with re-assigned positions"),
        ({"kv_dtype": "int8", "requests": (Prefill((1,)), Probe(1, 1))},
         "a probe needs rows that are kept as given, not int8"),
        ({"growable": 1}, "growable is 1; it must be true or false"),
        ({"poison": 1}, "poison is 1; it must be true or false"),
    ],
)  # fmt: skip
def test_what_does_not_go_together_is_refused_with_what_would_do(settings, words):
    assert words in _message(**settings)


def test_a_growable_buffer_starts_with_room_for_the_longest_append():
    assert _spec(capacity=64).first_rows == 8
    assert _spec(prompt_ids=tuple(range(20)), capacity=64).first_rows == 20
    assert _spec(prompt_ids=tuple(range(20)), capacity=64, chunk=3).first_rows == 8
    assert _spec(requests=(Prefill((1,) * 9, n_pad=4),)).first_rows == 13
    assert _spec(requests=(Prefill((1,)), Verify((1,) * 11, 2))).first_rows == 12


def test_a_spec_that_names_a_layer_of_a_fault_twice_is_not_read_from_json():
    as_json = to_json(_spec(faults=(FaultUse("mask-top-left", layers=(1,)),)))
    as_json["faults"][0]["layers"] = [0, 0]
    with pytest.raises(CoreError, match=r"layers=0,0 names a layer twice; write layers=0$"):
        from_json(RunSpec, as_json, "spec")
