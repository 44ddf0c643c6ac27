import numpy as np
import pytest

from core.engine.recorder import Recorder
from core.errors import DeviceError, FaultError, SpecError
from core.outcome import OK, PositionLimit, Refused
from core.session import Session
from core.spec import Decode, FaultUse, NewPrompt, Prefill, Rollback
from tests.helpers.runs import SCHEMES, SEVEN_IDS, judged, run, spec_for, tiny, with_config


def _refused(spec, loaded=None, error=SpecError):
    with pytest.raises(error) as caught:
        Session(spec, loaded or tiny(spec.model.removeprefix("tiny-")))
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_step_at_a_time_gives_the_run():
    session = Session(spec_for("rope", steps=2), tiny("rope"))
    records = []
    while (record := session.advance()) is not None:
        records.append(record)
        assert session.trace.records == records
    assert len(records) == 3
    assert session.trace.end == "steps"
    assert session.advance() is None
    assert session.trace.digests() == run(spec_for("rope", steps=2)).digests()


def test_the_trace_says_which_model_was_used():
    trace = run(spec_for("alibi", steps=0))
    assert (trace.model.name, trace.model.path) == ("tiny-alibi", None)
    assert trace.model.config == tiny("alibi").config


def test_a_capacity_above_the_models_positions_is_refused_with_both_numbers():
    message = _refused(spec_for("learned", capacity=257))
    for part in ("257", "256", "tiny-learned"):
        assert part in message
    Session(spec_for("learned", capacity=256), tiny("learned"))


@pytest.mark.parametrize("scheme", ["rope", "alibi"])
def test_relative_positions_take_any_capacity(scheme):
    Session(spec_for(scheme, capacity=1000), tiny(scheme))


@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({"prompt_ids": (1, 256)}, id="prompt"),
        pytest.param({"force_ids": (None, 256)}, id="forced"),
        pytest.param({"requests": (Prefill((1,)), Prefill((256,)))}, id="second prefill"),
        pytest.param({"requests": (Prefill((1,)), NewPrompt((0, 256)))}, id="new prompt"),
    ],
)
def test_a_token_outside_the_vocabulary_is_refused_by_number(settings):
    message = _refused(spec_for("rope", **settings))
    assert "256" in message
    assert "0 to 255" in message


def test_learned_positions_cannot_be_reassigned_and_the_message_says_why():
    spec = spec_for("learned", policy="sinks", sinks=1, capacity=8, reassign_positions=True)
    message = _refused(spec)
    assert "learned position is part of every kept row" in message
    assert "RoPE or ALiBi" in message


@pytest.mark.parametrize("device", ["cuda:99", "tpu", "gpu"])
def test_a_device_that_is_not_there_is_refused_with_those_that_are(device):
    assert "cpu" in _refused(spec_for("rope", device=device), error=DeviceError)


def test_unknown_or_clashing_faults_are_refused_before_anything_runs():
    _refused(spec_for("rope", faults=(FaultUse("none-such"),)), error=FaultError)
    both = (FaultUse("store-alias-in"), FaultUse("store-row-zero"))
    _refused(spec_for("rope", faults=both), error=FaultError)


def test_the_end_of_the_position_table_ends_the_run_with_its_size():
    small = with_config("learned", n_ctx=9)
    trace = run(spec_for("learned", policy="window", capacity=5, steps=6), small)
    assert [record.outcome for record in trace.records] == [OK, OK, OK, PositionLimit(9)]
    assert trace.end == "position_limit"
    assert judged(trace.spec, small).wrong_steps == []


@pytest.mark.parametrize("policy", ["window", "sinks"])
def test_a_scenario_ends_at_the_end_of_the_table_as_well(policy):
    small = with_config("learned", n_ctx=8)
    requests = (Prefill(SEVEN_IDS), Decode(), Decode(), NewPrompt((1,)))
    spec = spec_for("learned", policy=policy, capacity=5, requests=requests)
    found = judged(spec, small)
    assert found.trace.end == "position_limit"
    assert len(found.trace.records) == 3
    assert found.wrong_steps == []


def test_a_reprefill_never_reaches_the_end_of_the_table():
    small = with_config("learned", n_ctx=8)
    found = judged(spec_for("learned", policy="reprefill", capacity=8, steps=12), small)
    assert found.trace.end == "steps"
    assert found.wrong_steps == []


def test_a_prompt_as_long_as_the_table_fits():
    small = with_config("learned", n_ctx=7)
    trace = run(spec_for("learned", capacity=7, steps=1), small)
    assert [record.outcome for record in trace.records] == [OK, Refused(1, 0)]


def test_more_decodes_go_on_where_the_run_ended():
    session = Session(spec_for("rope", steps=2), tiny("rope"))
    session.run()
    session.decode_more(3)
    assert session.trace.end is None
    session.run()
    assert session.trace.spec == spec_for("rope", steps=5)
    assert session.trace.digests() == run(spec_for("rope", steps=5)).digests()
    assert session.trace.end == "steps"


def test_more_decodes_are_added_to_a_scenario():
    requests = (Prefill((1, 2)), Decode())
    session = Session(spec_for("rope", requests=requests), tiny("rope"))
    session.advance()
    session.decode_more(2)
    session.run()
    assert session.trace.spec.requests == (*requests, Decode(), Decode())
    assert session.trace.digests() == run(session.trace.spec).digests()


def test_more_decodes_do_not_wake_a_run_that_was_refused():
    session = Session(spec_for("rope", capacity=7, steps=2), tiny("rope"))
    session.run()
    session.decode_more(2)
    assert session.trace.end == "refused"
    assert session.advance() is None


def test_two_runs_do_not_share_a_cache():
    first = Session(spec_for("rope", steps=2), tiny("rope"))
    second = Session(spec_for("rope", steps=2, prompt_ids=(9, 8, 7)), tiny("rope"))
    while first.advance() is not None:
        second.advance()
    assert first.trace.digests() == run(spec_for("rope", steps=2)).digests()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_run_leaves_the_weights_as_they_were(scheme):
    loaded = tiny(scheme)
    before = {name: array.copy() for name, array in loaded.weights.arrays().items()}
    run(spec_for(scheme, steps=4, dtype="float32"))
    run(spec_for(scheme, steps=4, dtype="float64"))
    after = loaded.weights.arrays()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_another_witness_may_watch_the_run():
    seen = []

    def make(store):
        seen.append(store)
        return Recorder(store)

    spec = spec_for("rope", policy="window", capacity=5, chunk=3, steps=1)
    trace = Session(spec, tiny("rope"), make).run()
    assert trace.digests() == run(spec).digests()
    # Capacity and the longest chunk beside it.
    assert [store.n_rows for store in seen] == [8]


@pytest.mark.parametrize(
    ("settings", "n_rows"),
    [
        ({"policy": "refuse", "capacity": 9}, 9),
        ({"policy": "reprefill", "capacity": 5}, 5),
        ({"policy": "window", "capacity": 5}, 12),
        ({"policy": "sinks", "sinks": 2, "capacity": 5, "chunk": 2}, 7),
        ({"policy": "window", "capacity": 5, "requests": (Prefill((1,)), Decode())}, 6),
    ],
)
def test_the_buffer_has_room_for_what_the_policy_needs(settings, n_rows):
    seen = []

    def make(store):
        seen.append(store.n_rows)
        return Recorder(store)

    Session(spec_for("rope", **settings), tiny("rope"), make)
    assert seen == [n_rows]


# Branches.


def test_a_branch_repeats_the_run_up_to_its_step():
    spec = spec_for("rope", steps=4, chunk=3)
    session = Session(spec, tiny("rope"))
    session.run()
    child = session.branch(4)
    assert child.trace.digests() == session.trace.digests()[:4]
    assert child.run().digests() == session.trace.digests()


def test_a_branch_with_another_token_reads_it_in_that_step():
    session = Session(spec_for("rope", steps=4, force_ids=(50,)), tiny("rope"))
    before = session.run().digests()
    child = session.branch(3, token=99)
    assert [record.token_ids for record in child.trace.records] == [
        record.token_ids for record in session.trace.records[:3]
    ]
    child.run()
    assert child.trace.records[3].token_ids == (99,)
    assert child.trace.records[1].token_ids == (50,)
    assert session.trace.digests() == before
    straight = spec_for(
        "rope", steps=4,
        force_ids=(50, session.trace.records[2].token_ids[0], 99),
    )  # fmt: skip
    assert np.array_equal(child.trace.records[3].logits, run(straight).records[3].logits)


def test_a_branch_with_a_fault_differs_from_its_step_on():
    session = Session(spec_for("rope", steps=4), tiny("rope"))
    session.run()
    child = session.branch(2, faults=(FaultUse("pos-restart"),))
    child.run()
    assert child.trace.digests()[:2] == session.trace.digests()[:2]
    assert child.trace.records[2].position_ids == (0,)
    assert session.trace.records[2].position_ids == (8,)


def test_a_branch_of_a_branch_keeps_both_changes():
    session = Session(spec_for("rope", steps=4), tiny("rope"))
    session.run()
    child = session.branch(2, token=99)
    child.run()
    grandchild = child.branch(3, token=98)
    grandchild.run()
    assert [r.token_ids for r in grandchild.trace.records[2:4]] == [(99,), (98,)]


@pytest.mark.parametrize("step", [-1, 5, 99])
def test_a_branch_from_a_step_that_is_not_there_is_refused(step):
    session = Session(spec_for("rope", steps=4), tiny("rope"))
    session.run()
    with pytest.raises(SpecError, match="0 to 4"):
        session.branch(step)


def test_a_prompt_step_reads_no_chosen_token():
    session = Session(spec_for("rope", steps=2, chunk=3), tiny("rope"))
    session.run()
    with pytest.raises(SpecError, match="choose a decode step"):
        session.branch(1, token=5)


def test_a_branch_after_a_rollback_reads_the_token_or_says_that_it_cannot():
    requests = (Prefill((1, 2, 3)), Decode(), Decode(), Rollback(1), Decode())
    session = Session(spec_for("rope", requests=requests), tiny("rope"))
    session.run()
    try:
        child = session.branch(4, token=99)
    except SpecError:
        return
    child.run()
    assert child.trace.records[4].token_ids == (99,)


def test_a_branch_cannot_read_a_token_outside_the_vocabulary():
    session = Session(spec_for("rope", steps=2), tiny("rope"))
    session.run()
    with pytest.raises(SpecError, match="256"):
        session.branch(1, token=256)


def test_the_end_of_a_run_is_known_with_its_last_step():
    session = Session(spec_for("rope", prompt_ids=(1, 2, 3), steps=5, capacity=3), tiny("rope"))
    session.advance()
    assert session.trace.end is None
    session.advance()
    assert session.trace.end == "refused"
    short = Session(spec_for("rope", steps=1, capacity=12), tiny("rope"))
    short.advance()
    assert short.trace.end is None
    short.advance()
    assert short.trace.end == "steps"
    short.decode_more(1)
    assert short.trace.end is None
