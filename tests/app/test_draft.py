"""A form's contents and the specification that they come to."""

from app.draft import Draft
from app.script_words import script_words
from core.faults.scenarios import FILLING, REFUSED_THEN_ROLLED_BACK
from core.model.loading import load_model
from core.spec import Decode, FaultUse, NewPrompt, Prefill, Probe, Rollback, RunSpec


def encode(text: str) -> tuple[int, ...]:
    return tuple(text.encode())


def test_a_scenario_comes_to_the_same_specification_by_way_of_the_form():
    for scenario in (FILLING, REFUSED_THEN_ROLLED_BACK):
        tokens = load_model(scenario.model).tokenizer
        assert Draft.of_scenario(scenario).spec(tokens.encode) == scenario.spec(tokens.encode)


def test_a_specification_from_a_file_survives_the_form():
    spec = RunSpec(
        "tiny-rope",
        (5, 6, 7),
        steps=3,
        policy="sinks",
        capacity=9,
        sinks=2,
        reassign_positions=True,
        chunk=2,
        faults=(FaultUse("pos-restart", 2, 5, None),),
        force_ids=(1, None),
        temperature=0.5,
        top_k=4,
        top_p=0.9,
        seed=11,
        device="cpu",
        dtype="float64",
    )
    assert Draft.of_spec(spec, "never read").spec(encode) == spec


def test_a_script_from_a_file_survives_the_form():
    requests = (Prefill((1, 2)), Decode(), Rollback(1), Decode())
    spec = RunSpec("tiny-rope", (1, 2), steps=0, requests=requests)
    assert Draft.of_spec(spec, "never read").spec(encode) == spec


def test_a_script_is_told_in_words():
    requests = (Decode(), Decode(), Rollback(3), Probe(2, 1), NewPrompt((1, 2)))
    assert script_words(requests) == (
        "2 × decode, roll back 3, probe with 2 keys and 1 values, new prompt of 2 tokens"
    )
